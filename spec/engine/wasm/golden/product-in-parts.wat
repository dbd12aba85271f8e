(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 i32 i32 i32 v128 v128 v128 v128 i32 i32 v128 v128)
    (local.set 0
      (i32.const 112))
    (local.set 1
      (i32.const 16))
    (local.set 2
      (i32.const 144))
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
      (local.get 0))
    (local.set 12
      (local.get 1))
    (local.set 13
      (v128.load64_splat
        (local.get 11)))
    (local.set 14
      (v128.load
        (local.get 12)))
    (local.set 7
      (f64x2.add
        (local.get 7)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (local.set 14
      (v128.load offset=16
        (local.get 12)))
    (local.set 8
      (f64x2.add
        (local.get 8)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (local.set 13
      (v128.load64_splat offset=8
        (local.get 11)))
    (local.set 14
      (v128.load offset=32
        (local.get 12)))
    (local.set 9
      (f64x2.add
        (local.get 9)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (local.set 14
      (v128.load offset=48
        (local.get 12)))
    (local.set 10
      (f64x2.add
        (local.get 10)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (local.set 11
      (i32.add
        (local.get 11)
        (i32.const 16)))
    (local.set 12
      (i32.add
        (local.get 12)
        (i32.const 64)))
    (local.set 7
      (f64x2.add
        (local.get 7)
        (local.get 9)))
    (local.set 8
      (f64x2.add
        (local.get 8)
        (local.get 10)))
    (local.set 13
      (v128.load64_splat
        (local.get 11)))
    (local.set 14
      (v128.load
        (local.get 12)))
    (local.set 7
      (f64x2.add
        (local.get 7)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (local.set 14
      (v128.load offset=16
        (local.get 12)))
    (local.set 8
      (f64x2.add
        (local.get 8)
        (f64x2.mul
          (local.get 13)
          (local.get 14))))
    (v128.store
      (local.get 2)
      (local.get 7))
    (v128.store offset=16
      (local.get 2)
      (local.get 8))
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
        (i32.const 24)))
    (local.set 2
      (i32.add
        (local.get 2)
        (i32.const 32)))))
