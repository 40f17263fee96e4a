// Package sim may have iter, and nothing else that is banned.
package sim

import (
	_ "iter"
	_ "math/rand" // want import
)
