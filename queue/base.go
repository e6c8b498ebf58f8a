package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// base makes base copy n, when log n has begun:
//
//  1. The file gets the number. A crash before this: the log of before continues with this one. A crash after it: as
//     before, and the start reads this log only.
//  2. A snapshot is written beside the file, so that a disk of copies that hangs never holds a transaction, and
//     checked. A crash leaves PATH.new-*, which the next start removes.
//  3. It gets its name in the folder, durably. A crash before that leaves a temporary file, after it the base copy.
//  4. What is older than the base copy before it is removed. A crash leaves too much.
func (c *copier) base(ctx context.Context, n uint64) error {
	r := copyRecord{Database: c.record.Database, Number: n}
	if err := c.store(ctx, r); err != nil {
		return err
	}
	c.record = r
	temp, err := c.snapshot(ctx)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := c.q.o.CheckCopy(ctx, temp); err != nil {
		return fmt.Errorf("a base copy is not sound: %w", err)
	}
	files, err := readCopyFiles(c.dir)
	if err == nil {
		err = place(ctx, temp, files.base(n), c.q.hooks)
	}
	if err != nil {
		return err
	}
	return files.removeOld(n)
}

// snapshot writes the file as of the last commit under another name beside it.
func (c *copier) snapshot(ctx context.Context) (path string, err error) {
	info, err := os.Stat(c.q.o.Path)
	if err != nil {
		return "", err
	}
	if free, err := c.q.space.free(c.q.space.dir); err == nil && free < info.Size()+copyRoom {
		return "", fmt.Errorf("%w: a base copy needs %d MB beside the database, and %d MB are free",
			ErrStorageFull, (info.Size()+copyRoom)/1e6, free/1e6)
	}
	f, err := os.CreateTemp(c.q.space.dir, tempPattern(c.q.o.Path))
	if err != nil {
		return "", err
	}
	_, err = c.q.Backup(stoppable{ctx, f})
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// place copies a file to a name, durably, and replaces what has that name.
func place(ctx context.Context, from, to string, s storageHooks) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(to + tempSuffix)
	_, err = io.Copy(stoppable{ctx, out}, in)
	if err == nil {
		err = s.sync(out)
	}
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := s.rename(to+tempSuffix, to); err != nil {
		return err
	}
	return syncDir(to, s)
}

// removeOld removes what is not needed once base copy n is there: the base copies before the last keptBases of those
// up to n, and the logs before them.
func (c *copyFiles) removeOld(n uint64) error {
	bases := slices.DeleteFunc(slices.Clone(c.bases), func(b uint64) bool { return b >= n })
	bases = append(bases, n)
	oldest := bases[max(len(bases)-keptBases, 0)]
	var err error
	for _, b := range c.bases {
		if b < oldest {
			err = errors.Join(err, os.Remove(c.base(b)))
		}
	}
	for _, l := range c.logs {
		if l < oldest {
			err = errors.Join(err, os.Remove(c.log(l)))
		}
	}
	return err
}

// bound removes the oldest logs of too many. A base copy before them is then too old for the others, and the stations
// are told from when on nothing is missing.
func (c *copyFiles) bound() error {
	total, keep := int64(0), len(c.logs)
	for ; keep > 0; keep-- {
		if info, err := os.Stat(c.log(c.logs[keep-1])); err == nil {
			total += info.Size()
		}
		if total > maxLogs {
			break
		}
	}
	var err error
	for _, n := range c.logs[:keep] {
		err = errors.Join(err, os.Remove(c.log(n)))
	}
	if keep > 0 {
		err = errors.Join(fmt.Errorf("the logs since the last base copy are too long: %d are removed", keep), err)
	}
	return err
}

// A stoppable is a file whose writing ends with a context.
type stoppable struct {
	ctx context.Context
	f   *os.File
}

func (s stoppable) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.f.Write(b)
}
