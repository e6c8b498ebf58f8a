package queue

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// bbolt has two meta pages, and each commit writes the older one. If the newest is damaged later, bbolt uses the
// other one: the file is sound, and the last commit is gone without a word. So the number of the last commit that
// was durable is kept in a second place, at the beginning of the reserve file.
//
// It is written after each commit and never synced, which costs a commit a few microseconds. So it can be lower
// than the file, but not higher:
//   - A crash between the commit and the counter: one lower. A kill leaves both in the page cache.
//   - A power cut: lower by what the kernel had not written yet, usually the commits of half a minute. A loss of one
//     of those shows only if it leaves an invalid meta page.
//   - A meta page that was torn by a power cut before anybody was answered looks like one that was damaged later. So
//     all that is said of an invalid meta page is that a commit may be missing.
//   - There is no counter while the reserve is used for a full disk, or if there is none.
//   - A new file at the same path (restored, compacted, or copied by a person) counts anew. The counter has the
//     inode of its file; what makes a new file while no daemon runs removes the reserve too, because an inode
//     is used again.

// inode is the number of a file on its filesystem.
func inode(file fs.FileInfo) uint64 { return file.Sys().(*syscall.Stat_t).Ino }

// storeCounter notes that a commit is durable. Any error leaves an older counter, or none, and the next commit
// tries again.
func (s *space) storeCounter(file fs.FileInfo, commit uint64) {
	f, err := os.OpenFile(s.path, os.O_WRONLY, 0) // not kept open: that would keep the space of a removed reserve
	if err != nil {
		return
	}
	_, _ = f.WriteAt(seal(key128(inode(file), commit)), 0)
	_ = f.Close()
}

// readCounter returns the last commit of the file that is known to be durable; 0 if none is known.
func readCounter(o Options, file fs.FileInfo) uint64 {
	f, err := os.Open(reservePath(o))
	if err != nil {
		return 0
	}
	defer f.Close()
	stored := make([]byte, crcSize+16)
	if _, err := f.ReadAt(stored, 0); err != nil {
		return 0
	}
	counter, err := unseal(stored)
	if err != nil || binary.BigEndian.Uint64(counter) != inode(file) {
		return 0
	}
	return binary.BigEndian.Uint64(counter[8:])
}

// checkCommits looks for commits that the file had and has no more. It is called after the file was opened and
// before the first commit, which writes over an invalid meta page. exact says that this process made the last
// commit: then an invalid meta page is what a failed one left, and nobody was answered.
func (q *Queue) checkCommits(exact bool) {
	f, err := os.Open(q.o.Path)
	if err != nil {
		return // it is open already; what is wrong with the disk shows in the first commit
	}
	defer f.Close()
	newest, ok := newestMeta(f)
	if !ok {
		return
	}
	n := Notice{Lost: true, Do: "compare the orders before the last stop with the point of sale; " +
		"if it happens again, replace the disk"}
	switch {
	case newest.txid < q.durable:
		n.Text = fmt.Sprintf("the database has lost its last commits, %d of them: orders that were accepted "+
			"are missing", q.durable-newest.txid)
	case newest.alone && !exact:
		n.Text = "a meta page of the database is invalid: its last commit may be missing, with the orders in it"
	default:
		return
	}
	q.log.Error(n.Text, "path", q.o.Path, "commit", newest.txid, "last_known", q.durable,
		"meta_page_invalid", newest.alone)
	q.notice(n)
	q.mu.Lock()
	q.damaged++
	q.mu.Unlock()
	q.durable = newest.txid // said once
}
