(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 f64 v128 i32 i32)
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 2
        (f64.load offset=112
          (local.get 0)))
      (local.set 3
        (f64x2.splat
          (local.get 2)))
      (local.set 4
        (local.get 0))
      (local.set 5
        (local.get 1))
      (v128.store offset=160
        (local.get 5)
        (f64x2.mul
          (v128.load64_lane offset=48 1
            (local.get 4)
            (v128.load64_zero offset=16
              (local.get 4)))
          (local.get 3)))
      (local.set 4
        (i32.add
          (local.get 4)
          (i32.const 64)))
      (local.set 5
        (i32.add
          (local.get 5)
          (i32.const 16)))
      (f64.store offset=160
        (local.get 5)
        (f64.mul
          (f64.load offset=16
            (local.get 4))
          (local.get 2)))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 24)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 8)))
          (i32.const 32))))))
