(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 f64 v128 i32 i32)
    (call 1
      (i32.const 64)
      (i32.const 32))
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 3
        (v128.load offset=16
          (local.get 0)))
      (local.set 2
        (f64x2.extract_lane 0
          (local.get 3)))
      (local.set 4
        (i32.add
          (i32.add
            (i32.const 0)
            (i32.const 64))
          (local.tee 5
            (i32.load offset=96
              (local.get 1)))))
      (if  ;; label = @2
        (i32.ge_s
          (local.get 5)
          (i32.const 0))
        (then
          (f64.store
            (local.get 4)
            (f64.add
              (f64.load
                (local.get 4))
              (local.get 2)))))
      (local.set 2
        (f64x2.extract_lane 1
          (local.get 3)))
      (local.set 4
        (i32.add
          (i32.add
            (i32.const 0)
            (i32.const 64))
          (local.tee 5
            (i32.load offset=100
              (local.get 1)))))
      (if  ;; label = @2
        (i32.ge_s
          (local.get 5)
          (i32.const 0))
        (then
          (f64.store
            (local.get 4)
            (f64.add
              (f64.load
                (local.get 4))
              (local.get 2)))))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (local.set 2
      (f64.load offset=16
        (local.get 0)))
    (local.set 4
      (i32.add
        (i32.add
          (i32.const 0)
          (i32.const 64))
        (local.tee 5
          (i32.load offset=96
            (local.get 1)))))
    (if  ;; label = @1
      (i32.ge_s
        (local.get 5)
        (i32.const 0))
      (then
        (f64.store
          (local.get 4)
          (f64.add
            (f64.load
              (local.get 4))
            (local.get 2))))))
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
