package linux_test

import (
	"fmt"
	"testing"
	"time"

	"kpsim/linux"
	"kpsim/linux/boot"
)

func TestZZ(t *testing.T) {
	t0 := time.Now()
	k, err := linux.Open("/tmp/kern/x/boot/vmlinuz-6.1.0-50-amd64")
	fmt.Println(time.Since(t0), err)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(k.ID())
	t0 = time.Now()
	b, err := boot.Kernel(k, 2)
	fmt.Println(time.Since(t0), b != nil, err)
}
