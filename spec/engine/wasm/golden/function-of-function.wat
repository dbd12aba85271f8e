(module
  (type (;0;) (func (param v128) (result v128)))
  (type (;1;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (type 0) (param v128) (result v128)
    (local v128 v128 v128 v128 v128)
    (local.set 1
      (f64x2.div
        (local.get 0)
        (f64x2.add
          (v128.load offset=624
            (i32.const 0))
          (local.get 0))))
    (local.set 2
      (f64x2.mul
        (local.get 1)
        (local.get 1)))
    (local.set 3
      (f64x2.mul
        (local.get 2)
        (local.get 2)))
    (local.set 4
      (f64x2.mul
        (local.get 3)
        (local.get 3)))
    (local.set 5
      (f64x2.mul
        (v128.load offset=640
          (i32.const 0))
        (f64x2.mul
          (local.get 0)
          (local.get 0))))
    (f64x2.sub
      (local.get 0)
      (f64x2.sub
        (local.get 5)
        (f64x2.mul
          (local.get 1)
          (f64x2.add
            (local.get 5)
            (f64x2.mul
              (local.get 2)
              (f64x2.add
                (f64x2.add
                  (f64x2.add
                    (f64x2.mul
                      (local.get 2)
                      (v128.load offset=656
                        (i32.const 0)))
                    (v128.load offset=672
                      (i32.const 0)))
                  (f64x2.mul
                    (local.get 3)
                    (f64x2.add
                      (f64x2.mul
                        (local.get 2)
                        (v128.load offset=688
                          (i32.const 0)))
                      (v128.load offset=704
                        (i32.const 0)))))
                (f64x2.mul
                  (local.get 4)
                  (f64x2.add
                    (f64x2.add
                      (f64x2.add
                        (f64x2.mul
                          (local.get 2)
                          (v128.load offset=720
                            (i32.const 0)))
                        (v128.load offset=736
                          (i32.const 0)))
                      (f64x2.mul
                        (local.get 3)
                        (f64x2.add
                          (f64x2.mul
                            (local.get 2)
                            (v128.load offset=752
                              (i32.const 0)))
                          (v128.load offset=768
                            (i32.const 0)))))
                    (f64x2.mul
                      (local.get 4)
                      (f64x2.add
                        (f64x2.mul
                          (local.get 2)
                          (v128.load offset=784
                            (i32.const 0)))
                        (v128.load offset=800
                          (i32.const 0)))))))))))))
  (func (;1;) (type 0) (param v128) (result v128)
    (local v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128 v128)
    (if  ;; label = @1
      (v128.any_true
        (v128.not
          (f64x2.lt
            (f64x2.abs
              (local.get 0))
            (v128.load offset=816
              (i32.const 0)))))
      (then
        (local.set 2
          (f64x2.pmax
            (f64x2.pmin
              (local.get 0)
              (v128.load offset=832
                (i32.const 0)))
            (v128.load offset=848
              (i32.const 0))))
        (local.set 3
          (f64x2.add
            (f64x2.mul
              (local.get 2)
              (v128.load offset=864
                (i32.const 0)))
            (v128.load offset=880
              (i32.const 0))))
        (local.set 4
          (f64x2.sub
            (local.get 3)
            (v128.load offset=880
              (i32.const 0))))
        (local.set 5
          (f64x2.sub
            (f64x2.sub
              (local.get 2)
              (f64x2.mul
                (local.get 4)
                (v128.load offset=896
                  (i32.const 0))))
            (f64x2.mul
              (local.get 4)
              (v128.load offset=912
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
            (v128.load offset=928
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
                        (v128.load offset=944
                          (i32.const 0)))
                      (v128.load offset=960
                        (i32.const 0)))
                    (f64x2.mul
                      (local.get 6)
                      (f64x2.add
                        (f64x2.mul
                          (local.get 5)
                          (v128.load offset=976
                            (i32.const 0)))
                        (v128.load offset=992
                          (i32.const 0)))))
                  (f64x2.mul
                    (local.get 7)
                    (f64x2.add
                      (f64x2.add
                        (f64x2.add
                          (f64x2.mul
                            (local.get 5)
                            (v128.load offset=1008
                              (i32.const 0)))
                          (v128.load offset=1024
                            (i32.const 0)))
                        (f64x2.mul
                          (local.get 6)
                          (f64x2.add
                            (f64x2.mul
                              (local.get 5)
                              (v128.load offset=1040
                                (i32.const 0)))
                            (v128.load offset=1056
                              (i32.const 0)))))
                      (f64x2.mul
                        (local.get 7)
                        (f64x2.add
                          (f64x2.mul
                            (local.get 5)
                            (v128.load offset=1072
                              (i32.const 0)))
                          (v128.load offset=1088
                            (i32.const 0)))))))))))
        (local.set 9
          (f64x2.sub
            (local.get 3)
            (v128.load offset=880
              (i32.const 0))))
        (local.set 10
          (f64x2.floor
            (f64x2.mul
              (local.get 9)
              (v128.load offset=640
                (i32.const 0)))))
        (local.set 1
          (f64x2.mul
            (f64x2.mul
              (local.get 8)
              (i64x2.shl
                (f64x2.add
                  (local.get 10)
                  (v128.load offset=1104
                    (i32.const 0)))
                (i32.const 52)))
            (i64x2.shl
              (f64x2.add
                (f64x2.sub
                  (local.get 9)
                  (local.get 10))
                (v128.load offset=1104
                  (i32.const 0)))
              (i32.const 52)))))
      (else
        (local.set 11
          (f64x2.add
            (f64x2.mul
              (local.get 0)
              (v128.load offset=864
                (i32.const 0)))
            (v128.load offset=880
              (i32.const 0))))
        (local.set 12
          (f64x2.sub
            (local.get 11)
            (v128.load offset=880
              (i32.const 0))))
        (local.set 13
          (f64x2.sub
            (f64x2.sub
              (local.get 0)
              (f64x2.mul
                (local.get 12)
                (v128.load offset=896
                  (i32.const 0))))
            (f64x2.mul
              (local.get 12)
              (v128.load offset=912
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
            (v128.load offset=928
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
                        (v128.load offset=944
                          (i32.const 0)))
                      (v128.load offset=960
                        (i32.const 0)))
                    (f64x2.mul
                      (local.get 14)
                      (f64x2.add
                        (f64x2.mul
                          (local.get 13)
                          (v128.load offset=976
                            (i32.const 0)))
                        (v128.load offset=992
                          (i32.const 0)))))
                  (f64x2.mul
                    (local.get 15)
                    (f64x2.add
                      (f64x2.add
                        (f64x2.add
                          (f64x2.mul
                            (local.get 13)
                            (v128.load offset=1008
                              (i32.const 0)))
                          (v128.load offset=1024
                            (i32.const 0)))
                        (f64x2.mul
                          (local.get 14)
                          (f64x2.add
                            (f64x2.mul
                              (local.get 13)
                              (v128.load offset=1040
                                (i32.const 0)))
                            (v128.load offset=1056
                              (i32.const 0)))))
                      (f64x2.mul
                        (local.get 15)
                        (f64x2.add
                          (f64x2.mul
                            (local.get 13)
                            (v128.load offset=1072
                              (i32.const 0)))
                          (v128.load offset=1088
                            (i32.const 0)))))))))))
        (local.set 1
          (i64x2.add
            (local.get 16)
            (i64x2.shl
              (local.get 11)
              (i32.const 52))))))
    (local.get 1))
  (func (;2;) (export "p0") (type 1)
    (local v128 i32 v128 v128 v128 v128 v128 v128 v128 v128 i32 f64)
    (local.set 0
      (v128.const i32x4 0x00000000 0x00000000 0x00000000 0x00000000))
    (local.set 1
      (i32.const 0))
    (loop  ;; label = @1
      (local.set 3
        (call 1
          (f64x2.neg
            (f64x2.abs
              (local.tee 2
                (v128.load offset=16
                  (local.get 1)))))))
      (local.set 5
        (call 1
          (f64x2.neg
            (f64x2.abs
              (local.tee 4
                (v128.load offset=32
                  (local.get 1)))))))
      (local.set 7
        (call 1
          (f64x2.neg
            (f64x2.abs
              (local.tee 6
                (v128.load offset=48
                  (local.get 1)))))))
      (local.set 9
        (call 1
          (f64x2.neg
            (f64x2.abs
              (local.tee 8
                (v128.load offset=64
                  (local.get 1)))))))
      (v128.store offset=320
        (local.get 1)
        (f64x2.add
          (f64x2.max
            (local.get 2)
            (local.get 0))
          (call 0
            (local.get 3))))
      (v128.store offset=336
        (local.get 1)
        (f64x2.add
          (f64x2.max
            (local.get 4)
            (local.get 0))
          (call 0
            (local.get 5))))
      (v128.store offset=352
        (local.get 1)
        (f64x2.add
          (f64x2.max
            (local.get 6)
            (local.get 0))
          (call 0
            (local.get 7))))
      (v128.store offset=368
        (local.get 1)
        (f64x2.add
          (f64x2.max
            (local.get 8)
            (local.get 0))
          (call 0
            (local.get 9))))
      (br_if 0 (;@1;)
        (i32.lt_u
          (local.tee 1
            (i32.add
              (local.get 1)
              (i32.const 64)))
          (i32.const 256))))
    (local.set 10
      (i32.const 2))
    (loop  ;; label = @1
      (v128.store offset=320
        (local.get 1)
        (f64x2.add
          (f64x2.max
            (local.tee 9
              (v128.load offset=16
                (local.get 1)))
            (local.get 0))
          (call 0
            (call 1
              (f64x2.neg
                (f64x2.abs
                  (local.get 9)))))))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 16)))
      (br_if 0 (;@1;)
        (local.tee 10
          (i32.sub
            (local.get 10)
            (i32.const 1)))))
    (f64.store offset=320
      (local.get 1)
      (f64.add
        (f64.max
          (local.tee 11
            (f64.load offset=16
              (local.get 1)))
          (f64.const 0x0p+0 (;=0;)))
        (f64x2.extract_lane 0
          (call 0
            (f64x2.splat
              (f64x2.extract_lane 0
                (call 1
                  (f64x2.splat
                    (f64.neg
                      (f64.abs
                        (local.get 11)))))))))))))
