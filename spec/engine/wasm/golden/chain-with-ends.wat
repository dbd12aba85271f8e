(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local f64 v128 i32 v128)
    (f64.store offset=112
      (i32.const 0)
      (f64.mul
        (f64.load offset=64
          (i32.const 0))
        (f64.add
          (local.tee 0
            (f64.load offset=16
              (i32.const 0)))
          (f64.mul
            (f64.mul
              (f64.mul
                (local.get 0)
                (local.get 0))
              (local.get 0))
            (f64.const 0x1p-1 (;=0.5;))))))
    (local.set 1
      (v128.const i32x4 0x00000000 0x3fe00000 0x00000000 0x3fe00000))
    (local.set 2
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=120
        (local.get 2)
        (f64x2.mul
          (v128.load offset=72
            (local.get 2))
          (f64x2.add
            (local.tee 3
              (f64x2.sub
                (v128.load offset=24
                  (local.get 2))
                (v128.load offset=16
                  (local.get 2))))
            (f64x2.mul
              (f64x2.mul
                (f64x2.mul
                  (local.get 3)
                  (local.get 3))
                (local.get 3))
              (local.get 1)))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 2
            (i32.add
              (local.get 2)
              (i32.const 16)))
          (i32.const 32))))))
