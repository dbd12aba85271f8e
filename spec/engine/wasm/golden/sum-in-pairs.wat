(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local f64 f64 v128 i32)
    (local.set 1
      (f64.const 0x0p+0 (;=0;)))
    (local.set 2
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 3
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 2
        (f64x2.add
          (local.get 2)
          (v128.load offset=16
            (local.get 3))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 3
            (i32.add
              (local.get 3)
              (i32.const 16)))
          (i32.const 64))))
    (local.set 1
      (f64.add
        (local.get 1)
        (f64.load offset=16
          (local.get 3))))
    (local.set 0
      (f64.add
        (local.get 1)
        (f64.add
          (f64x2.extract_lane 0
            (local.get 2))
          (f64x2.extract_lane 1
            (local.get 2)))))
    (f64.store offset=320
      (i32.const 0)
      (local.get 0))))
