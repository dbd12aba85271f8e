(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 i32)
    (local.set 0
      (i32.const 64))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 2
        (local.get 0))
      (local.set 3
        (local.get 1))
      (local.set 4
        (i32.const 2))
      (loop  ;; label = @2
        (v128.store offset=112
          (local.get 3)
          (v128.load offset=16
            (local.get 2)))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const 16)))
        (local.set 3
          (i32.add
            (local.get 3)
            (i32.const 16)))
        (br_if 0 (;@2;)
          (local.tee 4
            (i32.sub
              (local.get 4)
              (i32.const 1)))))
      (local.set 0
        (i32.add
          (local.get 0)
          (i32.const -64)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 1
            (i32.add
              (local.get 1)
              (i32.const 32)))
          (i32.const 64))))))
