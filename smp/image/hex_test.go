package image_test

import (
	"bytes"
	"strings"
	"testing"

	"kpsim/smp/image"
)

func TestParseHex(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []byte
		err  string
	}{
		{"", nil, ""},
		{"55 4889e5\t53\r\n5b # pop, e9 is not code here\n5DC3", []byte{0x55, 0x48, 0x89, 0xe5, 0x53, 0x5b, 0x5d, 0xc3}, ""},
		{"# only a comment", nil, ""},
		{"55 4", nil, "line 1, column 4: a single digit '4'"},
		{"5 5", nil, "line 1, column 1: a single digit '5'"},
		{"5#5", nil, "line 1, column 1: a single digit '5'"},
		{"90 # one\n 9g", nil, "line 2, column 2: a single digit '9'"},
		{"90\n\n  0x55", nil, "line 3, column 3: a single digit '0'"},
		{"90 90, 90", nil, "line 1, column 6: ',' is no hexadecimal digit"},
	} {
		got, err := image.ParseHex(c.in)
		switch {
		case c.err == "" && (err != nil || !bytes.Equal(got, c.want)):
			t.Errorf("%q: % x, %v, want % x", c.in, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v, want %q", c.in, err, c.err)
		}
	}
}
