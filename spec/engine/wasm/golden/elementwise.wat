(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local v128 i32 v128 f64)
    (local.set 0
      (v128.const i32x4 0x00000000 0x3fe00000 0x00000000 0x3fe00000))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=112
        (local.get 1)
        (f64x2.add
          (f64x2.mul
            (local.tee 2
              (v128.load offset=16
                (local.get 1)))
            (v128.load offset=64
              (local.get 1)))
          (f64x2.mul
            (f64x2.sqrt
              (local.get 2))
            (local.get 0))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 1
            (i32.add
              (local.get 1)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=112
      (local.get 1)
      (f64.add
        (f64.mul
          (local.tee 3
            (f64.load offset=16
              (local.get 1)))
          (f64.load offset=64
            (local.get 1)))
        (f64.mul
          (f64.sqrt
            (local.get 3))
          (f64.const 0x1p-1 (;=0.5;)))))))
