package viewer_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// docs is where the pictures are.
const docs = "../../../docs"

var screenshots = flag.Bool("screenshots", false, "take the pictures of docs anew; look at them")

// TestScreenshots takes the pictures that docs has of the page.
func TestScreenshots(t *testing.T) {
	if !*screenshots {
		t.Skip("-screenshots takes them")
	}
	file, _ := page(t, witness(t, "T2-second-instruction"))
	w := window{wide: 1400, high: 900}
	open(t, file, w).picture("view-light.png")
	open(t, file, window{wide: 1400, high: 900, dark: true}).picture("view-dark.png")
	p := open(t, file, w)
	p.press("D")
	p.picture("view-deviation.png")
	both, _ := page(t, pair(t, "T2-second-instruction")...)
	open(t, both, window{wide: 1400, high: 900, hash: "#e91"}).picture("view-pair.png")
}

// picture writes what the window shows, in 256 colours, which is enough for a page.
func (p *tab) picture(name string) {
	p.Helper()
	shot, err := png.Decode(bytes.NewReader(run(p, name, chromedp.FullScreenshot(100))))
	require.NoError(p, err)
	img := image.NewPaletted(shot.Bounds(), palette(shot))
	draw.Draw(img, img.Bounds(), shot, shot.Bounds().Min, draw.Src)
	var b bytes.Buffer
	require.NoError(p, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img))
	require.NoError(p, os.WriteFile(filepath.Join(docs, name), b.Bytes(), 0o644))
	require.Less(p, b.Len(), 300_000, name)
	p.Logf("%s: %d KB", name, b.Len()/1024)
}

// palette returns the colours that are most frequent in a picture, none close to another.
func palette(img image.Image) (list color.Palette) {
	count := map[color.RGBA]int{}
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			count[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(count[b]-count[a], cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	for _, c := range all {
		near := func(o color.Color) bool { return distance(c, o.(color.RGBA)) < 200 }
		if len(list) < 256 && !slices.ContainsFunc(list, near) {
			list = append(list, c)
		}
	}
	return list
}

// distance is the square of that of two colours.
func distance(a, b color.RGBA) int {
	r, g, bl := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + bl*bl
}
