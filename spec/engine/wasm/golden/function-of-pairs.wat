(module
  (type (;0;) (func (param v128) (result v128)))
  (type (;1;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (type 0) (param v128) (result v128)
    (local v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (if  ;; label = @1
      (v128.any_true
        (v128.not
          (f64x2.lt
            (f64x2.abs
              (local.get 0))
            (v128.load offset=112
              (i32.const 0)))))
      (then
        (local.set 2
          (f64x2.pmax
            (f64x2.pmin
              (local.get 0)
              (v128.load offset=128
                (i32.const 0)))
            (v128.load offset=144
              (i32.const 0))))
        (local.set 3
          (f64x2.add
            (f64x2.mul
              (local.get 2)
              (v128.load offset=160
                (i32.const 0)))
            (v128.load offset=176
              (i32.const 0))))
        (local.set 4
          (f64x2.sub
            (local.get 3)
            (v128.load offset=176
              (i32.const 0))))
        (local.set 5
          (f64x2.sub
            (f64x2.sub
              (local.get 2)
              (f64x2.mul
                (local.get 4)
                (v128.load offset=192
                  (i32.const 0))))
            (f64x2.mul
              (local.get 4)
              (v128.load offset=208
                (i32.const 0)))))
        (local.set 6
          (f64x2.mul
            (local.get 5)
            (local.get 5)))
        (local.set 7
          (f64x2.mul
            (local.get 6)
            (local.get 6)))
        (local.set 8
          (f64x2.add
            (v128.load offset=224
              (i32.const 0))
            (f64x2.add
              (local.get 5)
              (f64x2.mul
                (local.get 6)
                (f64x2.add
                  (f64x2.add
                    (f64x2.add
                      (f64x2.mul
                        (local.get 5)
                        (v128.load offset=240
                          (i32.const 0)))
                      (v128.load offset=256
                        (i32.const 0)))
                    (f64x2.mul
                      (local.get 6)
                      (f64x2.add
                        (f64x2.mul
                          (local.get 5)
                          (v128.load offset=272
                            (i32.const 0)))
                        (v128.load offset=288
                          (i32.const 0)))))
                  (f64x2.mul
                    (local.get 7)
                    (f64x2.add
                      (f64x2.add
                        (f64x2.add
                          (f64x2.mul
                            (local.get 5)
                            (v128.load offset=304
                              (i32.const 0)))
                          (v128.load offset=320
                            (i32.const 0)))
                        (f64x2.mul
                          (local.get 6)
                          (f64x2.add
                            (f64x2.mul
                              (local.get 5)
                              (v128.load offset=336
                                (i32.const 0)))
                            (v128.load offset=352
                              (i32.const 0)))))
                      (f64x2.mul
                        (local.get 7)
                        (f64x2.add
                          (f64x2.mul
                            (local.get 5)
                            (v128.load offset=368
                              (i32.const 0)))
                          (v128.load offset=384
                            (i32.const 0)))))))))))
        (local.set 9
          (f64x2.sub
            (local.get 3)
            (v128.load offset=176
              (i32.const 0))))
        (local.set 10
          (f64x2.floor
            (f64x2.mul
              (local.get 9)
              (v128.load offset=400
                (i32.const 0)))))
        (local.set 1
          (f64x2.mul
            (f64x2.mul
              (local.get 8)
              (i64x2.shl
                (f64x2.add
                  (local.get 10)
                  (v128.load offset=416
                    (i32.const 0)))
                (i32.const 52)))
            (i64x2.shl
              (f64x2.add
                (f64x2.sub
                  (local.get 9)
                  (local.get 10))
                (v128.load offset=416
                  (i32.const 0)))
              (i32.const 52)))))
      (else
        (local.set 11
          (f64x2.add
            (f64x2.mul
              (local.get 0)
              (v128.load offset=160
                (i32.const 0)))
            (v128.load offset=176
              (i32.const 0))))
        (local.set 12
          (f64x2.sub
            (local.get 11)
            (v128.load offset=176
              (i32.const 0))))
        (local.set 13
          (f64x2.sub
            (f64x2.sub
              (local.get 0)
              (f64x2.mul
                (local.get 12)
                (v128.load offset=192
                  (i32.const 0))))
            (f64x2.mul
              (local.get 12)
              (v128.load offset=208
                (i32.const 0)))))
        (local.set 14
          (f64x2.mul
            (local.get 13)
            (local.get 13)))
        (local.set 15
          (f64x2.mul
            (local.get 14)
            (local.get 14)))
        (local.set 16
          (f64x2.add
            (v128.load offset=224
              (i32.const 0))
            (f64x2.add
              (local.get 13)
              (f64x2.mul
                (local.get 14)
                (f64x2.add
                  (f64x2.add
                    (f64x2.add
                      (f64x2.mul
                        (local.get 13)
                        (v128.load offset=240
                          (i32.const 0)))
                      (v128.load offset=256
                        (i32.const 0)))
                    (f64x2.mul
                      (local.get 14)
                      (f64x2.add
                        (f64x2.mul
                          (local.get 13)
                          (v128.load offset=272
                            (i32.const 0)))
                        (v128.load offset=288
                          (i32.const 0)))))
                  (f64x2.mul
                    (local.get 15)
                    (f64x2.add
                      (f64x2.add
                        (f64x2.add
                          (f64x2.mul
                            (local.get 13)
                            (v128.load offset=304
                              (i32.const 0)))
                          (v128.load offset=320
                            (i32.const 0)))
                        (f64x2.mul
                          (local.get 14)
                          (f64x2.add
                            (f64x2.mul
                              (local.get 13)
                              (v128.load offset=336
                                (i32.const 0)))
                            (v128.load offset=352
                              (i32.const 0)))))
                      (f64x2.mul
                        (local.get 15)
                        (f64x2.add
                          (f64x2.mul
                            (local.get 13)
                            (v128.load offset=368
                              (i32.const 0)))
                          (v128.load offset=384
                            (i32.const 0)))))))))))
        (local.set 1
          (i64x2.add
            (local.get 16)
            (i64x2.shl
              (local.get 11)
              (i32.const 52))))))
    (local.get 1))
  (func (;1;) (export "p0") (type 1)
    (local i32)
    (local.set 0
      (i32.const 0))
    (loop  ;; label = @1
      (v128.store offset=64
        (local.get 0)
        (call 0
          (v128.load offset=16
            (local.get 0))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 0
            (i32.add
              (local.get 0)
              (i32.const 16)))
          (i32.const 32))))
    (f64.store offset=64
      (local.get 0)
      (f64x2.extract_lane 0
        (call 0
          (f64x2.splat
            (f64.load offset=16
              (local.get 0))))))))
