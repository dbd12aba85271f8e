(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 i32 i32 i32 v128 v128 v128 v128 v128 v128 i32 i32 i32 v128 v128 v128 f64)
    (local.set 0
      (i32.const 16))
    (local.set 1
      (i32.const 112))
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
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 11
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 12
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 13
      (local.get 0))
    (local.set 14
      (local.get 1))
    (local.set 15
      (i32.const 2))
    (loop  ;; label = @1
      (local.set 16
        (v128.load
          (local.get 14)))
      (local.set 17
        (v128.load offset=32
          (local.get 14)))
      (local.set 18
        (v128.load
          (local.get 13)))
      (local.set 7
        (f64x2.add
          (local.get 7)
          (f64x2.mul
            (local.get 18)
            (local.get 16))))
      (local.set 8
        (f64x2.add
          (local.get 8)
          (f64x2.mul
            (local.get 18)
            (local.get 17))))
      (local.set 18
        (v128.load offset=32
          (local.get 13)))
      (local.set 9
        (f64x2.add
          (local.get 9)
          (f64x2.mul
            (local.get 18)
            (local.get 16))))
      (local.set 10
        (f64x2.add
          (local.get 10)
          (f64x2.mul
            (local.get 18)
            (local.get 17))))
      (local.set 18
        (v128.load offset=64
          (local.get 13)))
      (local.set 11
        (f64x2.add
          (local.get 11)
          (f64x2.mul
            (local.get 18)
            (local.get 16))))
      (local.set 12
        (f64x2.add
          (local.get 12)
          (f64x2.mul
            (local.get 18)
            (local.get 17))))
      (local.set 13
        (i32.add
          (local.get 13)
          (i32.const 16)))
      (local.set 14
        (i32.add
          (local.get 14)
          (i32.const 16)))
      (br_if 0 (;@1;)
        (local.tee 15
          (i32.sub
            (local.get 15)
            (i32.const 1)))))
    (local.set 7
      (f64x2.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (local.get 7)
          (local.get 8))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
          (local.get 7)
          (local.get 8))))
    (v128.store
      (local.get 2)
      (local.get 7))
    (local.set 9
      (f64x2.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (local.get 9)
          (local.get 10))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
          (local.get 9)
          (local.get 10))))
    (v128.store offset=24
      (local.get 2)
      (local.get 9))
    (local.set 11
      (f64x2.add
        (i8x16.shuffle 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23
          (local.get 11)
          (local.get 12))
        (i8x16.shuffle 8 9 10 11 12 13 14 15 24 25 26 27 28 29 30 31
          (local.get 11)
          (local.get 12))))
    (v128.store offset=48
      (local.get 2)
      (local.get 11))
    (local.set 1
      (i32.add
        (local.get 1)
        (i32.const 64)))
    (local.set 2
      (i32.add
        (local.get 2)
        (i32.const 16)))
    (local.set 12
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 11
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 10
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 14
      (local.get 0))
    (local.set 13
      (local.get 1))
    (local.set 15
      (i32.const 2))
    (loop  ;; label = @1
      (local.set 9
        (v128.load
          (local.get 13)))
      (local.set 8
        (v128.load
          (local.get 14)))
      (local.set 12
        (f64x2.add
          (local.get 12)
          (f64x2.mul
            (local.get 8)
            (local.get 9))))
      (local.set 8
        (v128.load offset=32
          (local.get 14)))
      (local.set 11
        (f64x2.add
          (local.get 11)
          (f64x2.mul
            (local.get 8)
            (local.get 9))))
      (local.set 8
        (v128.load offset=64
          (local.get 14)))
      (local.set 10
        (f64x2.add
          (local.get 10)
          (f64x2.mul
            (local.get 8)
            (local.get 9))))
      (local.set 14
        (i32.add
          (local.get 14)
          (i32.const 16)))
      (local.set 13
        (i32.add
          (local.get 13)
          (i32.const 16)))
      (br_if 0 (;@1;)
        (local.tee 15
          (i32.sub
            (local.get 15)
            (i32.const 1)))))
    (local.set 19
      (f64.add
        (f64x2.extract_lane 0
          (local.get 12))
        (f64x2.extract_lane 1
          (local.get 12))))
    (f64.store
      (local.get 2)
      (local.get 19))
    (local.set 19
      (f64.add
        (f64x2.extract_lane 0
          (local.get 11))
        (f64x2.extract_lane 1
          (local.get 11))))
    (f64.store offset=24
      (local.get 2)
      (local.get 19))
    (local.set 19
      (f64.add
        (f64x2.extract_lane 0
          (local.get 10))
        (f64x2.extract_lane 1
          (local.get 10))))
    (f64.store offset=48
      (local.get 2)
      (local.get 19))
    (local.set 1
      (local.get 5))
    (local.set 2
      (local.get 6))
    (local.set 0
      (local.get 3))
    (local.set 2
      (local.get 4))
    (local.set 0
      (i32.add
        (local.get 0)
        (i32.const 96)))
    (local.set 1
      (i32.add
        (local.get 1)
        (i32.const 96)))
    (local.set 2
      (i32.add
        (local.get 2)
        (i32.const 72)))))
