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
        (f64.const -inf (;=-inf;)))
      (local.set 3
        (v128.const i32x4 0x00000000 0xfff00000 0x00000000 0xfff00000))
      (local.set 4
        (local.get 0))
      (local.set 5
        (i32.const 2))
      (loop  ;; label = @2
        (local.set 3
          (f64x2.max
            (local.get 3)
            (v128.load offset=16
              (local.get 4))))
        (local.set 4
          (i32.add
            (local.get 4)
            (i32.const 16)))
        (br_if 0 (;@2;)
          (local.tee 5
            (i32.sub
              (local.get 5)
              (i32.const 1)))))
      (f64.store offset=112
        (local.get 1)
        (f64.max
          (local.get 2)
          (f64.max
            (f64x2.extract_lane 0
              (local.get 3))
            (f64x2.extract_lane 1
              (local.get 3)))))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 32)))
          (i32.const 96))))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 3
        (v128.const i32x4 0x00000000 0x7ff00000 0x00000000 0x7ff00000))
      (local.set 0
        (local.get 1))
      (local.set 4
        (i32.const 3))
      (loop  ;; label = @2
        (local.set 3
          (f64x2.min
            (local.get 3)
            (v128.load offset=16
              (local.get 0))))
        (local.set 0
          (i32.add
            (local.get 0)
            (i32.const 32)))
        (br_if 0 (;@2;)
          (local.tee 4
            (i32.sub
              (local.get 4)
              (i32.const 1)))))
      (v128.store offset=144
        (local.get 1)
        (local.get 3))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 1
            (i32.add
              (local.get 1)
              (i32.const 16)))
          (i32.const 32))))))
