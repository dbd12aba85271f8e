(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 i32 i32 i32 v128 v128 v128 i32 i32 i32 v128 v128 f64 f64 f64 f64 f64)
    (local.set 0
      (i32.const 112))
    (local.set 1
      (i32.const 16))
    (local.set 2
      (i32.const 208))
    (local.set 3
      (local.get 0))
    (local.set 4
      (local.get 2))
    (local.set 5
      (local.get 1))
    (local.set 6
      (local.get 2))
    (local.set 7
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 8
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 9
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 10
      (local.get 0))
    (local.set 11
      (local.get 1))
    (local.set 12
      (i32.const 4))
    (loop  ;; label = @1
      (local.set 13
        (v128.load64_lane offset=32 1
          (local.get 11)
          (v128.load64_zero
            (local.get 11))))
      (local.set 14
        (v128.load64_splat
          (local.get 10)))
      (local.set 7
        (f64x2.add
          (local.get 7)
          (f64x2.mul
            (local.get 14)
            (local.get 13))))
      (local.set 14
        (v128.load64_splat offset=8
          (local.get 10)))
      (local.set 8
        (f64x2.add
          (local.get 8)
          (f64x2.mul
            (local.get 14)
            (local.get 13))))
      (local.set 14
        (v128.load64_splat offset=16
          (local.get 10)))
      (local.set 9
        (f64x2.add
          (local.get 9)
          (f64x2.mul
            (local.get 14)
            (local.get 13))))
      (local.set 10
        (i32.add
          (local.get 10)
          (i32.const 24)))
      (local.set 11
        (i32.add
          (local.get 11)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (local.tee 12
          (i32.sub
            (local.get 12)
            (i32.const 1)))))
    (v128.store
      (local.get 2)
      (local.get 7))
    (v128.store offset=24
      (local.get 2)
      (local.get 8))
    (v128.store offset=48
      (local.get 2)
      (local.get 9))
    (local.set 1
      (i32.add
        (local.get 1)
        (i32.const 64)))
    (local.set 2
      (i32.add
        (local.get 2)
        (i32.const 16)))
    (local.set 15
      (f64.const 0x0p+0 (;=0;)))
    (local.set 16
      (f64.const 0x0p+0 (;=0;)))
    (local.set 17
      (f64.const 0x0p+0 (;=0;)))
    (local.set 11
      (local.get 0))
    (local.set 10
      (local.get 1))
    (local.set 12
      (i32.const 4))
    (loop  ;; label = @1
      (local.set 18
        (f64.load
          (local.get 10)))
      (local.set 19
        (f64.load
          (local.get 11)))
      (local.set 15
        (f64.add
          (local.get 15)
          (f64.mul
            (local.get 19)
            (local.get 18))))
      (local.set 19
        (f64.load offset=8
          (local.get 11)))
      (local.set 16
        (f64.add
          (local.get 16)
          (f64.mul
            (local.get 19)
            (local.get 18))))
      (local.set 19
        (f64.load offset=16
          (local.get 11)))
      (local.set 17
        (f64.add
          (local.get 17)
          (f64.mul
            (local.get 19)
            (local.get 18))))
      (local.set 11
        (i32.add
          (local.get 11)
          (i32.const 24)))
      (local.set 10
        (i32.add
          (local.get 10)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (local.tee 12
          (i32.sub
            (local.get 12)
            (i32.const 1)))))
    (f64.store
      (local.get 2)
      (local.get 15))
    (f64.store offset=24
      (local.get 2)
      (local.get 16))
    (f64.store offset=48
      (local.get 2)
      (local.get 17))
    (local.set 1
      (local.get 5))
    (local.set 2
      (local.get 6))
    (local.set 0
      (local.get 3))
    (local.set 2
      (local.get 4))
    (local.set 2
      (i32.add
        (local.get 2)
        (i32.const 72)))))
