(module
  (type (;0;) (func))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;0;) (export "p0") (type 0)
    (local i32 i32 i32 i32 f64 f64 i32 i32 i32)
    (local.set 0
      (i32.const 0))
    (local.set 1
      (i32.const 0))
    (local.set 7
      (i32.const 3))
    (loop  ;; label = @1
      (local.set 4
        (f64.load offset=16
          (local.tee 2
            (local.get 0))))
      (local.set 6
        (i32.const 0))
      (local.set 3
        (i32.const 1))
      (local.set 8
        (i32.const 3))
      (loop  ;; label = @2
        (if  ;; label = @3
          (f64.lt
            (local.tee 5
              (f64.load offset=24
                (local.get 2)))
            (local.get 4))
          (then
            (local.set 4
              (local.get 5))
            (local.set 6
              (local.get 3))))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const 8)))
        (local.set 3
          (i32.add
            (local.get 3)
            (i32.const 1)))
        (br_if 0 (;@2;)
          (local.tee 8
            (i32.sub
              (local.get 8)
              (i32.const 1)))))
      (f64.store offset=112
        (local.get 1)
        (f64.convert_i32_u
          (local.get 6)))
      (local.set 0
        (i32.add
          (local.get 0)
          (i32.const 8)))
      (local.set 1
        (i32.add
          (local.get 1)
          (i32.const 8)))
      (local.set 0
        (i32.add
          (local.get 0)
          (i32.const 24)))
      (br_if 0 (;@1;)
        (local.tee 7
          (i32.sub
            (local.get 7)
            (i32.const 1)))))
    (local.set 6
      (i32.const 0))
    (local.set 3
      (i32.const 0))
    (local.set 7
      (i32.const 4))
    (loop  ;; label = @1
      (local.set 5
        (f64.load offset=16
          (local.tee 2
            (local.get 6))))
      (local.set 0
        (i32.const 0))
      (local.set 1
        (i32.const 1))
      (local.set 8
        (i32.const 2))
      (loop  ;; label = @2
        (if  ;; label = @3
          (f64.gt
            (local.tee 4
              (f64.load offset=48
                (local.get 2)))
            (local.get 5))
          (then
            (local.set 5
              (local.get 4))
            (local.set 0
              (local.get 1))))
        (local.set 2
          (i32.add
            (local.get 2)
            (i32.const 32)))
        (local.set 1
          (i32.add
            (local.get 1)
            (i32.const 1)))
        (br_if 0 (;@2;)
          (local.tee 8
            (i32.sub
              (local.get 8)
              (i32.const 1)))))
      (f64.store offset=144
        (local.get 3)
        (f64.convert_i32_u
          (local.get 0)))
      (local.set 6
        (i32.add
          (local.get 6)
          (i32.const 8)))
      (local.set 3
        (i32.add
          (local.get 3)
          (i32.const 8)))
      (br_if 0 (;@1;)
        (local.tee 7
          (i32.sub
            (local.get 7)
            (i32.const 1)))))
    (local.set 6
      (i32.add
        (local.get 6)
        (i32.const 64)))))
