(module
  (type (;0;) (func))
  (import "host" "0" (func (;0;) (type 0)))
  (import "env" "memory" (memory (;0;) 1 1))
  (func (;1;) (export "p0") (type 0)
    (call 0)))
