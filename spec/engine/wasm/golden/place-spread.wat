(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 v128)
    (call 1
      (i32.const 64)
      (i32.const 96))
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 2
        (v128.load offset=16
          (local.get 0)))
      (v128.store64_lane offset=72 0
        (local.get 1)
        (local.get 2))
      (v128.store64_lane offset=88 1
        (local.get 1)
        (local.get 2))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 32)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=72
      (local.get 1)
      (f64.load offset=16
        (local.get 0))))
  (func (;1;) (type 1) (param i32 i32)
    (local.set 1
      (i32.add
        (local.get 0)
        (local.get 1)))
    (loop  ;; label = @1
      (v128.store
        (local.get 0)
        (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
      (local.set 0
        (i32.add
          (local.get 0)
          (i32.const 16)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.get 0)
          (local.get 1))))))
