(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local f64 f64 i32 v128 v128 f64 i32 i32)
    (local.set 1
      (f64.const 0x0p+0 (;=0;)))
    (local.set 2
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 3
        (f64x2.mul
          (local.tee 4
            (v128.load offset=16
              (local.get 2)))
          (local.get 4)))
      (local.set 1
        (f64.add
          (f64.add
            (local.get 1)
            (f64x2.extract_lane 0
              (local.get 3)))
          (f64x2.extract_lane 1
            (local.get 3))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 2
            (i32.add
              (local.get 2)
              (i32.const 16)))
          (i32.const 32))))
    (local.set 1
      (f64.add
        (local.get 1)
        (f64.mul
          (local.tee 5
            (f64.load offset=16
              (local.get 2)))
          (local.get 5))))
    (local.set 0
      (local.get 1))
    (local.set 2
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 4
        (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
      (local.set 6
        (local.get 2))
      (local.set 7
        (i32.const 3))
      (loop  ;; label = @2
        (local.set 4
          (f64x2.add
            (local.get 4)
            (v128.load offset=64
              (local.get 6))))
        (local.set 6
          (i32.add
            (local.get 6)
            (i32.const 32)))
        (br_if 0 (;@2;)
          (local.tee 7
            (i32.sub
              (local.get 7)
              (i32.const 1)))))
      (v128.store offset=176
        (local.get 2)
        (local.get 4))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 2
            (i32.add
              (local.get 2)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=160
      (i32.const 0)
      (local.get 0))))
