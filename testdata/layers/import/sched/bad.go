package sched

import (
	_ "crypto/rand" // want import
	_ "errors"
	_ "iter" // want import
	_ "maps" // want import
	_ "math/bits"
	_ "math/rand/v2"  // want import
	_ "os/exec"       // want import
	_ "reflect"       // want import
	_ "runtime/debug" // want import
	_ "sync/atomic"   // want import
	_ "time"          // want import
	_ "unsafe"        // want import
)
