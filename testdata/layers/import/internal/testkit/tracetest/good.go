package tracetest

import (
	_ "os"
	_ "time" // want import
)
