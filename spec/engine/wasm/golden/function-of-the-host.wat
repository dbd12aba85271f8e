(module
  (type (;0;) (func (param f64) (result f64)))
  (type (;1;) (func))
  (import "math" "atan" (func (;0;) (type 0)))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;1;) (export "p0") (type 1)
    (local i32 v128)
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=64
        (local.get 0)
        (f64x2.replace_lane 1
          (f64x2.splat
            (call 0
              (f64x2.extract_lane 0
                (local.tee 1
                  (v128.load offset=16
                    (local.get 0))))))
          (call 0
            (f64x2.extract_lane 1
              (local.get 1)))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=64
      (local.get 0)
      (call 0
        (f64.load offset=16
          (local.get 0))))))
