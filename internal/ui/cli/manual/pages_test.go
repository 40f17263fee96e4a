package manual

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

type program struct {
	Go struct {
		Far  far      `cmd:"" help:"Go far. Or farther."`
		Near struct{} `cmd:"" help:"Go near."`
		Away struct{} `cmd:"" hidden:"" help:"Go away."`
	} `cmd:"" help:"Go somewhere."`
}

type far struct {
	Where string `arg:"" optional:"" help:"A place – any."`
	Miles int    `short:"m" placeholder:"N" range:"1..64" help:"How many."`
	Quiet bool   `help:"Say nothing."`
	Trap  bool   `hidden:"" help:"Not for show."`
}

func (far) Help() string {
	return `.dots and 'quotes' at the start of a line, a\b, "x", ^~` + "`" + `.

  north   up, mostly
          and cold
  south   down

  no columns here

Examples:

  go far --miles=3 'a b'

Look there first.

Exit status: 0, or 2.`
}

const farPage = `.TH "PROG-GO-FAR" "1" "2026-11-25" "prog 1.2-3" "User Commands"
.nh
.SH NAME
prog\-go\-far \- go far
.SH SYNOPSIS
\fBprog go far\fR [<where>] [flags]
.SH DESCRIPTION
Go far. Or farther.
.PP
\&.dots and \(aqquotes\(aq at the start of a line, a\eb, \(dqx\(dq, \(ha\(ti\(ga.
.TP
\fBnorth\fR
up, mostly and cold
.TP
\fBsouth\fR
down
.PP
.RS "4"
.nf
no columns here
.fi
.RE
.SH ARGUMENTS
.TP
[<where>]
A place \[u2013] any.
.SH OPTIONS
.TP
\fB\-h, \-\-help\fR
Show context\-sensitive help.
.TP
\fB\-m, \-\-miles\fR=\fIN\fR
How many; 1 to 64.
.TP
\fB\-\-quiet\fR
Say nothing.
.SH EXAMPLES
.RS "4"
.nf
go far \-\-miles=3 \(aqa b\(aq
.fi
.RE
.PP
Look there first.
.SH EXIT STATUS
0, or 2.
.SH SEE ALSO
\fBprog\-go\fR(1),
\fBprog\-go\-near\fR(1)
`

// A page has the parts of the help in their sections; what formatters would take for their own
// is escaped; what is hidden isn't there.
func TestPage(t *testing.T) {
	parser, err := kong.New(new(program), kong.Name("prog"),
		kong.Description("Kpsim goes: a toy.\n\nExit status, of every command:\n\n  0   good\n\nThat's all."))
	require.NoError(t, err)
	files := Pages(parser.Model.Node, Foot{"2026-11-25", "prog 1.2-3"})
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{"prog.1", "prog-go.1", "prog-go-far.1", "prog-go-near.1"}, names)
	require.Equal(t, farPage, string(files[2].Text))
	require.Contains(t, string(files[0].Text), "\nprog \\- goes: a toy\n")
	require.Contains(t, string(files[0].Text), ".SH EXIT STATUS\n.TP\n\\fB0\\fR\ngood\n.PP\nThat\\(aqs all.\n")
	require.Contains(t, string(files[1].Text),
		".SH COMMANDS\n.TP\n\\fBfar\\fR\nGo far. Or farther.\n.TP\n\\fBnear\\fR\nGo near.\n.SH OPTIONS\n")
	require.NotContains(t, string(files[1].Text), "away")

	page := filepath.Join(t.TempDir(), files[2].Name)
	require.NoError(t, os.WriteFile(page, files[2].Text, 0o644))
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("no man here")
	}
	c := exec.Command("man", "-l", page)
	c.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "MANWIDTH=80", "MANPAGER=cat", "MAN_KEEP_FORMATTING=")
	out, err := c.CombinedOutput()
	require.NoError(t, err)
	for _, shown := range []string{".dots and 'quotes' at the start of a line, a\\b, \"x\", ^~`.",
		"north  up, mostly and cold", "A place – any.", "-m, --miles=N", "go far --miles=3 'a b'"} {
		require.Contains(t, strings.Join(strings.Fields(string(out)), " "), strings.Join(strings.Fields(shown), " "))
	}
}
