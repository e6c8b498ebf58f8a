package doctor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestASetupThatCannotBeUsedLeavesNoFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "ticketrail")
	s := NewSetup()
	s.Timezone = "Mars/Base"
	if _, err := s.Write(t.Context(), filepath.Join(folder, "ticketrail.yaml")); err == nil {
		t.Error("it is written")
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
