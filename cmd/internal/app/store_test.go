package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"ticketrail/cmd/internal/daemon"
	"ticketrail/config"
	"ticketrail/deploy/assert"
	"ticketrail/queue"
)

func TestTheErrorOfADatabaseThatCannotBeOpenedSaysWhatToDo(t *testing.T) {
	for cause, want := range map[error]string{
		fs.ErrNotExist:   "database/no_folder: its folder does not exist (/data): create it",
		fs.ErrPermission: "database/owner: the service may not open it, or not write in its folder (/data/t.db must",
		syscall.EROFS:    "disk/read_only: it is mounted read-only (at /data): set storage.path",
		syscall.ENOSPC: "orders/disk_full: no orders are accepted: the disk is full (at /data): " +
			"delete something on the disk that df /data shows",
		errors.New("else"): "open: else",
	} {
		err := fmt.Errorf("open: %w", cause)
		got := openError("/data/t.db", err)
		assert.True(t, strings.HasPrefix(got.Error(), want) && errors.Is(got, cause), err, got, want)
	}
}

func TestOnlyADatabaseThatWasCheckedIsLoggedAsSuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.db")
	assert.NoError(t, os.WriteFile(path, nil, 0o600))
	for finds, want := range map[error]string{nil: "database checked", errors.New("locked"): "database not checked"} {
		var log bytes.Buffer
		files := &store{
			conf: config.Storage{Path: path}, log: daemon.NewLogger(&log, "text", nil), tellSystemd: func(string) {},
			check: func(context.Context, string) error { return finds },
		}
		err := files.checkFile(t.Context())
		assert.True(t, err == nil && strings.Count(log.String(), "\n") == 1, finds, err, &log)
		assert.Contains(t, log.String(), `"`+want+`"`)
	}
}

func TestTheFindingsOfADatabaseBehindASymbolicLinkAreOfTheFileItself(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "t.db"), filepath.Join(t.TempDir(), "link.db")
	assert.NoError(t, errors.Join(os.WriteFile(path, nil, 0o600), os.Symlink(path, link)))
	for _, name := range []string{path + ".corrupt-1", path + ".corrupt", link + ".corrupt-1"} {
		assert.NoError(t, os.WriteFile(name, nil, 0o600))
	}
	files := &store{conf: config.Storage{Path: link}}
	found := files.quarantined()
	assert.True(t, len(found) == 1 && found[0] == path+".corrupt-1", found)
	assert.Equal(t, files.folder(), filepath.Dir(path))
	assert.Contains(t, openError(link, syscall.EROFS).Error(), "at "+filepath.Dir(path)+")")
}

func TestAFileThatLooksDamagedStaysWhileAnotherDaemonHasIt(t *testing.T) {
	conf := config.Default().Storage
	conf.Path = filepath.Join(t.TempDir(), "t.db")
	synctest.Test(t, func(t *testing.T) { // the second one waits for a while
		first := &store{conf: conf, log: daemon.NewLogger(nil, "text", nil)}
		q, err := first.open(t.Context(), Options{NoSync: true}, daemon.NewRegistry())
		assert.NoError(t, err)
		second := &store{
			conf: conf, log: daemon.NewLogger(nil, "text", nil), tellSystemd: func(string) {},
			check: func(context.Context, string) error { return queue.ErrDamaged }, // it grows just now
		}
		_, err = second.open(t.Context(), Options{}, daemon.NewRegistry())
		assert.True(t, err != nil && strings.Contains(err.Error(), "another ticketrail process has it open"),
			"a second start", err)
		_, err = os.Stat(conf.Path)
		assert.True(t, err == nil && len(second.quarantined()) == 0, "the running daemon's file is now",
			second.quarantined(), err)
		assert.NoError(t, first.close(t.Context(), q))
	})
}
