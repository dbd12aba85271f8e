(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 f64 i32)
    (local.set 0
      (i32.const 0))
    (local.set 1
      (local.get 0))
    (local.set 2
      (local.get 1))
    (local.set 3
      (f64.const 0x0p+0 (;=0;)))
    (local.set 4
      (i32.const 5))
    (loop  ;; label = @1
      (f64.store offset=112
        (local.get 2)
        (local.tee 3
          (f64.add
            (local.get 3)
            (f64.load offset=160
              (local.get 2)))))
      (local.set 2
        (i32.add
          (local.get 2)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (local.tee 4
          (i32.sub
            (local.get 4)
            (i32.const 1)))))
    (local.set 1
      (i32.add
        (local.get 1)
        (i32.const 8)))
    (local.set 0
      (i32.add
        (local.get 0)
        (i32.const 40))))
  (func (;1;) (export "p1") (type 0)
    (local i32)
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=64
        (local.get 0)
        (f64x2.mul
          (v128.load offset=16
            (local.get 0))
          (v128.load offset=112
            (local.get 0))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=64
      (local.get 0)
      (f64.mul
        (f64.load offset=16
          (local.get 0))
        (f64.load offset=112
          (local.get 0))))))
