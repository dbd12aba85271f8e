(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32)
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=64
        (local.get 1)
        (v128.load64_lane 1
          (select
            (i32.add
              (i32.const 16)
              (local.tee 2
                (i32.load offset=116
                  (local.get 0))))
            (i32.const 0)
            (i32.ge_s
              (local.get 2)
              (i32.const 0)))
          (v128.load64_zero
            (select
              (i32.add
                (i32.const 16)
                (local.tee 2
                  (i32.load offset=112
                    (local.get 0))))
              (i32.const 0)
              (i32.ge_s
                (local.get 2)
                (i32.const 0))))))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 16)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 8)))
          (i32.const 24))))))
