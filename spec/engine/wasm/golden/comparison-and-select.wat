(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 v128 v128 f64 f64)
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=112
        (local.get 0)
        (v128.bitselect
          (local.tee 1
            (v128.load offset=16
              (local.get 0)))
          (f64x2.abs
            (local.tee 2
              (v128.load offset=64
                (local.get 0))))
          (f64x2.lt
            (local.get 1)
            (local.get 2))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=112
      (local.get 0)
      (select
        (local.tee 3
          (f64.load offset=16
            (local.get 0)))
        (f64.abs
          (local.tee 4
            (f64.load offset=64
              (local.get 0))))
        (f64.lt
          (local.get 3)
          (local.get 4))))))
