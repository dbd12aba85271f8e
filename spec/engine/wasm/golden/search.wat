(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 i32 f64 i32)
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (local.set 6
      (i32.const 5))
    (loop  ;; label = @1
      (local.set 5
        (f64.load offset=64
          (local.get 1)))
      (local.set 2
        (i32.const 0))
      (local.set 3
        (i32.const 5))
      (block  ;; label = @2
        (loop  ;; label = @3
          (br_if 1 (;@2;)
            (i32.ge_u
              (local.get 2)
              (local.get 3)))
          (if  ;; label = @4
            (f64.lt
              (f64.load offset=16
                (i32.add
                  (i32.shl
                    (local.tee 4
                      (i32.shr_u
                        (i32.add
                          (local.get 2)
                          (local.get 3))
                        (i32.const 1)))
                    (i32.const 3))
                  (local.get 0)))
              (local.get 5))
            (then
              (local.set 2
                (i32.add
                  (local.get 4)
                  (i32.const 1))))
            (else
              (local.set 3
                (local.get 4))))
          (br 0 (;@3;))))
      (f64.store offset=112
        (local.get 1)
        (f64.convert_i32_u
          (local.get 2)))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (local.tee 6
          (i32.sub
            (local.get 6)
            (i32.const 1)))))
    (local.set 0
      (i32.add
        (local.get 0)
        (i32.const 40)))))
