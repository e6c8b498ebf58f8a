package queue

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"ticketrail/queue/ticket"
)

// A Salvaged says what was brought into a new file. All of its tickets are in doubt.
type Salvaged struct {
	Pending int // tickets that print again, marked POSSIBLE DUPLICATE
	Held    int // tickets that wait for a person
	Failed  int // tickets of which only a part is left: they are failed, for a person to look at
	Ended   int // jobs of the history
	Keys    int // requests that are known: a retry of them prints no order
	// Kept is where [Quarantine] has put the damaged file.
	Kept string
	// Err is why Quarantine could not salvage anything; there is then no file at the path.
	Err error
}

// String says to a person what was saved.
func (r Salvaged) String() string {
	return fmt.Sprintf("%s saved: %d print marked POSSIBLE DUPLICATE, %d held, %d failed",
		ticket.Plural(r.Pending+r.Held+r.Failed, "ticket"), r.Pending, r.Held, r.Failed)
}

// Salvage reads what is left of a damaged file, or of one that is sound, and makes a new one of it. The old file
// is only read, and there must be none at the new path. See the type salvage for what is believed. A crash leaves no
// new file, and perhaps NEW.new-*.
func Salvage(from, to string) (Salvaged, error) {
	if _, err := os.Lstat(to); err == nil {
		return Salvaged{}, fmt.Errorf("%s exists and is not overwritten: name another file", to)
	}
	f, err := os.Open(from)
	if err != nil {
		return Salvaged{}, fmt.Errorf("salvage: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return Salvaged{}, fmt.Errorf("salvage %s: %w", from, errInUse)
	}
	return salvageTo(f, to, nil, systemHooks, func(*Salvaged) error { return nil })
}

// Quarantine gives the damaged file at path the name PATH.corrupt-TIME, and puts what can be salvaged of it in its
// place. The caller has the [Lock]. After an error the damaged file is at path, or the new one already.
//
// The damaged file has both names before the new one replaces it. A crash before that leaves it at path, to be
// salvaged again, and perhaps PATH.new-*; after it the new file is complete. If nothing can be salvaged, for example
// because the disk is full, the damaged file is renamed, and the next [Open] begins an empty one.
func Quarantine(path string) (Salvaged, error) { return quarantine(path, systemHooks) }

func quarantine(path string, s storageHooks) (r Salvaged, err error) {
	path = target(path)
	old, err := lockFile(path)
	if err == nil && old == nil {
		err = os.ErrNotExist
	}
	if err != nil {
		return r, fmt.Errorf("quarantine %s: %w", path, err)
	}
	defer old.Close()
	removeHalf(path)
	setAside := func(r *Salvaged) (err error) {
		r.Kept, err = keepDamaged(path, old, s)
		return err
	}
	r, err = salvageTo(old, path, old, s, setAside)
	if isDiskFull(err) {
		_ = os.Remove(reservePath(Options{Path: path}))
		r, err = salvageTo(old, path, old, s, setAside)
	}
	if err == nil {
		return r, nil
	}
	if r.Kept != "" { // the next start tries again, or finds the new file
		return r, err
	}
	if err := setAside(&r); err != nil {
		return r, fmt.Errorf("quarantine %s: %w", path, err)
	}
	// Under its second name it stays.
	if removed := os.Remove(path); removed != nil && !errors.Is(removed, os.ErrNotExist) {
		return r, fmt.Errorf("quarantine %s: %w", path, removed)
	}
	return Salvaged{Kept: r.Kept, Err: err}, syncDir(path, s)
}

// keepDamaged gives a damaged file a second name, which replaces no other. One that it has from a start that was
// killed is used again.
func keepDamaged(path string, old *os.File, s storageHooks) (string, error) {
	info, err := old.Stat()
	if err != nil {
		return "", err
	}
	others, _ := filepath.Glob(path + ".corrupt-*") // an error is a path that is a pattern
	for _, other := range others {
		if same, err := os.Stat(other); err == nil && os.SameFile(same, info) {
			return other, syncDir(path, s)
		}
	}
	name := fmt.Sprintf("%s.corrupt-%s", path, time.Now().UTC().Format("20060102T150405Z"))
	kept := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(kept); errors.Is(err, os.ErrNotExist) {
			break
		}
		kept = fmt.Sprintf("%s-%d", name, n)
	}
	if s.link(path, kept) != nil { // this filesystem has no links: then a crash now loses what is salvaged
		if err := s.rename(path, kept); err != nil {
			return "", err
		}
	}
	return kept, syncDir(path, s)
}

// salvageTo makes a new file at path of what is left of from. before is called when it is durable.
func salvageTo(from *os.File, path string, old *os.File, s storageHooks, before func(*Salvaged) error) (
	r Salvaged, err error,
) {
	err = replaceFile(path, old, s, func(temp string) error {
		found, err := readSalvage(from)
		if err != nil {
			return err
		}
		r, err = found.write(temp)
		return err
	}, func() error { return before(&r) })
	if err != nil {
		return r, fmt.Errorf("salvage %s: %w", from.Name(), err)
	}
	return r, nil
}
