package viewer_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

var screenshots = flag.String("screenshots", "", "write the pictures of the documentation to this directory")

func (p *tab) picture(name string) {
	b := run(p, name, chromedp.FullScreenshot(100))
	require.NoError(p, os.WriteFile(filepath.Join(*screenshots, name), b, 0o644))
	p.Logf("%s: %d KB", name, len(b)/1024)
}

func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("-screenshots DIRECTORY")
	}
	file, _ := page(t, filmed(t, "T2-second-instruction", read(t, "T2-second-instruction")))
	open(t, file, window{wide: 1400, high: 900}).picture("view-light.png")
	open(t, file, window{wide: 1400, high: 900, dark: true}).picture("view-dark.png")
	p := open(t, file, window{wide: 1400, high: 900})
	p.press("D")
	p.picture("view-deviation.png")
	both, _ := page(t, pair(t, "T2-second-instruction")...)
	open(t, both, window{wide: 1400, high: 900}).picture("view-pair.png")
	for _, name := range []string{"S1-cancel-rcu-pages", "R2-objpool-last", "K1-lock-in-nmi", "P3-back-off"} {
		file, _ := page(t, filmed(t, name, read(t, name)))
		open(t, file, window{wide: 1400, high: 900}).picture(name + ".png")
	}
}
