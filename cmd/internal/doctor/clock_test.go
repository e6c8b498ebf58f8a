package doctor

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"ticketrail/deploy/assert"
)

func TestTheFileOfTimesyncdCountsOnlyIfTimedatedDoesNotAnswer(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	none, file := filepath.Join(folder, "none"), filepath.Join(folder, "synchronized")
	writeFile(t, file, "")
	for _, c := range []struct {
		program, file string // the program is a script
		want          bool
	}{
		{"", none, false},
		{"", file, true},
		{"echo yes", none, true},
		{"echo no", file, false},
		{"echo no; exit 1", file, true},
	} {
		if c.program != "" {
			const asked = "#!/bin/sh\n[ \"$*\" = 'show --value --property=NTPSynchronized' ] || exit 1\n"
			assert.NoError(t, os.WriteFile(filepath.Join(folder, "timedatectl"), []byte(asked+c.program), 0o700))
		}
		assert.Equal(t, askTimedated(c.file), c.want, c)
	}
}

func TestAQuestionIsAskedAgainAndNobodyWaitsForTheAnswer(t *testing.T) {
	answers := make(chan bool, 1)
	answers <- false
	newest := repeated(func() bool { return <-answers }, time.Millisecond)
	assert.True(t, !newest.Load(), "the first answer is not the one that was given")
	for range 3 { // the second is taken after the first was stored, and the third has place then
		answers <- true
	}
	assert.True(t, newest.Load(), "never asked again")
}
