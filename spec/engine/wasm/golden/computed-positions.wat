(module
  (type (;0;) (func))
  (type (;1;) (func (param i32 i32)))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 v128 f64 f64 f64 i32)
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (local.get 0)
      (local.set 2
        (f64x2.extract_lane 0
          (local.tee 1
            (v128.load offset=64
              (local.get 0)))))
      (f64x2.splat
        (f64.load
          (select
            (i32.add
              (i32.shl
                (i32.trunc_sat_f64_s
                  (local.get 2))
                (i32.const 3))
              (i32.const 16))
            (i32.const 0)
            (i32.and
              (f64.ge
                (local.get 2)
                (f64.const 0x0p+0 (;=0;)))
              (f64.lt
                (local.get 2)
                (f64.const 0x1.4p+2 (;=5;)))))))
      (local.set 2
        (f64x2.extract_lane 1
          (local.get 1)))
      (v128.store offset=112
        (f64.load
          (select
            (i32.add
              (i32.shl
                (i32.trunc_sat_f64_s
                  (local.get 2))
                (i32.const 3))
              (i32.const 16))
            (i32.const 0)
            (i32.and
              (f64.ge
                (local.get 2)
                (f64.const 0x0p+0 (;=0;)))
              (f64.lt
                (local.get 2)
                (f64.const 0x1.4p+2 (;=5;))))))
        (f64x2.replace_lane 1))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (local.get 0)
    (local.set 2
      (f64.load offset=64
        (local.get 0)))
    (f64.load
      (select
        (i32.add
          (i32.shl
            (i32.trunc_sat_f64_s
              (local.get 2))
            (i32.const 3))
          (i32.const 16))
        (i32.const 0)
        (i32.and
          (f64.ge
            (local.get 2)
            (f64.const 0x0p+0 (;=0;)))
          (f64.lt
            (local.get 2)
            (f64.const 0x1.4p+2 (;=5;))))))
    (f64.store offset=112)
    (call 1
      (i32.const 160)
      (i32.const 32))
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 1
        (v128.load offset=64
          (local.get 0)))
      (local.set 2
        (f64x2.extract_lane 0
          (local.get 1)))
      (local.set 3
        (local.get 2))
      (local.set 2
        (f64x2.extract_lane 1
          (local.get 1)))
      (local.set 4
        (local.get 2))
      (local.set 1
        (v128.load offset=16
          (local.get 0)))
      (local.set 2
        (f64x2.extract_lane 0
          (local.get 1)))
      (if  ;; label = @2
        (i32.and
          (f64.ge
            (local.get 3)
            (f64.const 0x0p+0 (;=0;)))
          (f64.lt
            (local.get 3)
            (f64.const 0x1.8p+1 (;=3;))))
        (then
          (local.set 5
            (i32.add
              (i32.shl
                (i32.trunc_sat_f64_s
                  (local.get 3))
                (i32.const 3))
              (i32.const 160)))
          (f64.store
            (local.get 5)
            (f64.add
              (f64.load
                (local.get 5))
              (local.get 2)))))
      (local.set 2
        (f64x2.extract_lane 1
          (local.get 1)))
      (if  ;; label = @2
        (i32.and
          (f64.ge
            (local.get 4)
            (f64.const 0x0p+0 (;=0;)))
          (f64.lt
            (local.get 4)
            (f64.const 0x1.8p+1 (;=3;))))
        (then
          (local.set 5
            (i32.add
              (i32.shl
                (i32.trunc_sat_f64_s
                  (local.get 4))
                (i32.const 3))
              (i32.const 160)))
          (f64.store
            (local.get 5)
            (f64.add
              (f64.load
                (local.get 5))
              (local.get 2)))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (local.set 4
      (f64.load offset=64
        (local.get 0)))
    (local.set 3
      (local.get 4))
    (local.set 4
      (f64.load offset=16
        (local.get 0)))
    (if  ;; label = @1
      (i32.and
        (f64.ge
          (local.get 3)
          (f64.const 0x0p+0 (;=0;)))
        (f64.lt
          (local.get 3)
          (f64.const 0x1.8p+1 (;=3;))))
      (then
        (local.set 5
          (i32.add
            (i32.shl
              (i32.trunc_sat_f64_s
                (local.get 3))
              (i32.const 3))
            (i32.const 160)))
        (f64.store
          (local.get 5)
          (f64.add
            (f64.load
              (local.get 5))
            (local.get 4))))))
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
