(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32)
    (f64.store offset=64
      (i32.const 0)
      (f64.const 0x0p+0 (;=0;)))
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=72
        (local.get 0)
        (v128.load offset=16
          (local.get 0)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=72
      (local.get 0)
      (f64.load offset=16
        (local.get 0)))
    (f64.store offset=112
      (i32.const 0)
      (f64.const 0x0p+0 (;=0;)))))
