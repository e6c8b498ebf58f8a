package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Everything random but the tokens depends on a seed, so that a failure can be repeated, and two
// processes (possim serve and possim send) agree about the employees.

// newRand returns the random numbers for one purpose. Each purpose has its own, so that one more
// order does not change the staff.
func newRand(seed uint64, purpose ...string) *rand.Rand {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, strings.Join(purpose, "\x00")+"\x00")
	return rand.New(rand.NewPCG(seed, hash.Sum64()))
}

// newID is a UUID, drawn from r.
func newID(r *rand.Rand) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Append(nil, r.Uint64(), r.Uint64())).String()
}

// Staff is the nth employee of a venue, from 0. It depends on the arguments only: [Orders] and
// [Service] with the same seed name the same employees. They need not exchange anything for that.
func Staff(seed uint64, venueID string, n int) Employee {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	random := newRand(seed, "staff", venueID, string(b[:]))
	employee := Employee{ID: newID(random), FirstName: pick(random, firstNames()), LastName: pick(random, lastNames())}

	initial, _ := utf8.DecodeRuneInString(employee.LastName)
	employee.Name = employee.FirstName + " " + string(initial) + "."

	// Leading spaces among them must not get onto a ticket.
	if random.IntN(12) == 0 { // names that operators type by hand
		employee.Name = pick(random,
			[]string{"Chef", "Bar 1", "Manager", employee.FirstName, employee.LastName + ", " + employee.FirstName,
				"  " + employee.FirstName})
	}

	// A fixed year, so that the time of the last change does not depend on the clock.
	firstUpdate := time.Date(2025, 1, 1, 6, 0, 0, 0, time.UTC)
	employee.UpdatedAt = firstUpdate.Add(time.Duration(random.IntN(365*24*3600)) * time.Second)
	return employee
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

// firstNames, like lastNames, has many scripts and an apostrophe: servers' names print on tickets.
func firstNames() []string {
	return []string{
		"Jonathan", "Zoë", "Łukasz", "José", "Nguyễn", "Søren", "Ελένη", "Дмитрий", "小明", "さくら", "지우", "محمد",
		"נועה", "สมชาย", "प्रिया", "O'Shea",
	}
}

func lastNames() []string {
	return []string{
		"Anderson", "Ünal", "García", "Ó Briain", "Thị Hoa", "Østergaard", "Țepeș", "Παπαδάκη", "Иванов", "王", "高橋",
		"김", "الفارسي", "כהן", "ใจดี", "शर्मा", "van der Berg", "D'Angelo",
	}
}
