package queue

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// file.go reads bbolt's private meta pages and rewrites one. These tests compare what it assumes
// with the bbolt that is linked: a bbolt with another layout fails them.

func TestTheMetaPageIsReadAsBboltReadsIt(t *testing.T) {
	const metaFlag = 4
	host := binary.NativeEndian
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		t.Run(fmt.Sprintf("pages of %d", size), func(t *testing.T) {
			bboltFile(t, &bolt.Options{PageSize: size, NoSync: true}, 5, func(db *bolt.DB) {
				m := newest(t, db.Path())
				content, err := os.ReadFile(db.Path())
				must(t, err)
				if want := db.Info().PageSize; m.pageSize != int64(want) || want != size {
					t.Errorf("pages of %d, want %d", m.pageSize, want)
				}
				page := content[m.at : m.at+m.pageSize]
				raw := page[pageHeader:]
				err = db.View(func(tx *bolt.Tx) error {
					if m.txid != uint64(tx.ID()) {
						t.Errorf("transaction %d, want %d", m.txid, tx.ID())
					}
					if m.need != uint64(tx.Size()) {
						t.Errorf("%d bytes, want %d", m.need, tx.Size())
					}
					if m.at != int64(tx.ID()%2*size) || host.Uint64(page) != uint64(tx.ID()%2) ||
						host.Uint16(page[8:]) != metaFlag {
						t.Errorf("at %d begins a page with the header %x", m.at, page[:pageHeader])
					}
					if got, want := host.Uint64(raw[offRoot:]), uint64(tx.Cursor().Bucket().Root()); got != want {
						t.Errorf("the root is page %d, want %d", got, want)
					}
					return nil
				})
				must(t, err)
				for _, b := range raw[metaSize:] {
					if b != 0 {
						t.Fatalf("there is more than these %d bytes: %x", metaSize, raw)
					}
				}
			})
		})
	}
}

// TestADamagedMetaPageIsValidExactlyWhenBboltSaysSo: whichever byte of the newest meta page is damaged, bbolt and
// this package use the same one of the two pages, whatever the size of a page.
func TestADamagedMetaPageIsValidExactlyWhenBboltSaysSo(t *testing.T) {
	for _, size := range []int{1 << 10, 4 << 10, 64 << 10} {
		for commits := 4; commits < 6; commits++ { // so that the newest is the first page once, and the second once
			path := bboltFile(t, &bolt.Options{PageSize: size, NoSync: true}, commits, nil)
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			must(t, err)
			defer f.Close()
			m := newest(t, path)
			for off := range pageHeader + metaSize + 8 {
				whole := make([]byte, 1)
				must(t, errOf(f.ReadAt(whole, m.at+int64(off))))
				must(t, errOf(f.WriteAt([]byte{whole[0] ^ 0x10}, m.at+int64(off))))
				want := m.txid
				if off >= pageHeader && off < pageHeader+metaSize {
					want--
				}
				got, n := state(t, path)
				if uint64(got) != want || n != fmt.Sprint(want) || newest(t, path).txid != want {
					t.Errorf("byte %d: bbolt takes transaction %d with %s, this package %d, want %d",
						off, got, n, newest(t, path).txid, want)
				}
				must(t, errOf(f.WriteAt(whole, m.at+int64(off))))
			}
			for page := range 2 {
				must(t, errOf(f.WriteAt(make([]byte, pageHeader+metaSize), int64(page*size))))
			}
			if m, ok := newestMeta(f); ok {
				t.Errorf("pages of %d: %+v, and both are damaged", size, m)
			}
		}
	}
}

// TestACopyOfAMetaPageAmongTheDataIsNotUsed: a body is stored as received, and may look like a meta page.
func TestACopyOfAMetaPageAmongTheDataIsNotUsed(t *testing.T) {
	path := bboltFile(t, boltOptions(true), 4, nil)
	m := newest(t, path)
	content, err := os.ReadFile(path)
	must(t, err)
	forged := append([]byte(nil), content[m.at:m.at+m.pageSize]...)
	raw := forged[pageHeader:]
	binary.NativeEndian.PutUint64(raw[offTxid:], m.txid+1)
	binary.NativeEndian.PutUint64(raw[offHighWater:], 1<<40)
	binary.NativeEndian.PutUint32(raw[offPageSize:], uint32(2*m.pageSize))
	sealMeta(raw)
	copy(content[2*m.pageSize:], forged)
	must(t, os.WriteFile(path, content, 0o600))
	if got := newest(t, path); got != m {
		t.Errorf("got %+v, want %+v", got, m)
	}
}

// bboltFile makes a file with bbolt alone. Transaction n stores the value n under the key "n".
func bboltFile(t *testing.T, o *bolt.Options, commits int, each func(db *bolt.DB)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bbolt.db")
	db, err := bolt.Open(path, 0o600, o)
	must(t, err)
	for range commits {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			_ = b.Put(fmt.Append(nil, "filler ", tx.ID()), make([]byte, 3000))
			return b.Put([]byte("n"), fmt.Append(nil, tx.ID()))
		})
		must(t, err)
		if each != nil {
			each(db)
		}
	}
	must(t, db.Close())
	return path
}

// state is the transaction that bbolt finds in a file, and what the file holds.
func state(t *testing.T, path string) (txid int, n string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		txid, n = tx.ID(), string(tx.Bucket([]byte("b")).Get([]byte("n")))
		return nil
	})
	must(t, err)
	return txid, n
}
