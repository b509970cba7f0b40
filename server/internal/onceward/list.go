package onceward

import (
	"encoding/base64"
	"encoding/binary"
	"time"
)

const (
	defaultPage = 100
	maxPage     = 1000
)

// Page says which part of a list to read.
type Page struct {
	Size  int    // how many at most; 0: 100, and never more than 1000
	Token string // from the page before; "": the first page

	// After is where the page before ended; resolve fills it in.
	After Position
}

// Position is a place in a list. Lists follow the layout, partition by partition
// and name by name, so that what is in a list keeps its place while it and
// others change.
type Position struct {
	Partition int
	Name      string
}

// Before tells whether a position comes before another.
func (p Position) Before(q Position) bool {
	return p.Partition < q.Partition || p.Partition == q.Partition && p.Name < q.Name
}

func (p *Page) resolve(c *checks) {
	if p.Size < 0 {
		c.fail("page_size", "is negative")
	}
	if p.Size = min(p.Size, maxPage); p.Size == 0 {
		p.Size = defaultPage
	}
	if p.Token == "" {
		return
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Token)
	if err != nil || len(b) < 2 || int(binary.BigEndian.Uint16(b)) >= Partitions || len(b) > 64 {
		c.fail("page_token", "is none that this service gave")
		return
	}
	p.After = Position{int(binary.BigEndian.Uint16(b)), string(b[2:])}
}

// Token is the page token for what comes after a position.
func (p Position) Token() string {
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint16(nil, uint16(p.Partition)), p.Name...))
}

// ListClaimsRequest asks for the claims of a namespace that are in one state.
type ListClaimsRequest struct {
	Namespace string
	State     State // InProgress, Expired or Parked
	Page

	Policy *Policy
}

func (q *ListClaimsRequest) resolve(p *Policy) error {
	var c checks
	c.namespace(q.Namespace)
	if q.State != InProgress && q.State != Expired && q.State != Parked {
		c.fail("state", "must be IN_PROGRESS, EXPIRED or PARKED")
	}
	q.Page.resolve(&c)
	q.Policy = p
	return c.err()
}

// ClaimsPage is one page of claims.
type ClaimsPage struct {
	Claims []Claim
	Next   string // page token; "": this was the last
}

// ListEntitiesRequest asks for the entities of a namespace that need
// reconciling.
type ListEntitiesRequest struct {
	Namespace string
	Page

	Policy *Policy
}

func (q *ListEntitiesRequest) resolve(p *Policy) error {
	var c checks
	c.namespace(q.Namespace)
	q.Page.resolve(&c)
	q.Policy = p
	return c.err()
}

// EntitiesPage is one page of entities.
type EntitiesPage struct {
	Entities []ListedEntity
	Next     string
}

// ListedEntity is an entity with its name.
type ListedEntity struct {
	EntityID
	Entity
}

// Overview is how things stand.
type Overview struct {
	Namespaces map[string]*NamespaceOverview
	Store      string   // what the store is, for people
	Warnings   []string // what is wrong with it, for people
}

// NamespaceOverview counts what waits in one namespace.
type NamespaceOverview struct {
	InProgress, Expired, Parked, NeedsReconcile int64

	OldestInProgress     time.Time // first claimed; zero for none
	OldestNeedsReconcile time.Time // flagged; zero for none
}

// NewOverview is an overview with nothing in it.
func NewOverview(store string, warnings ...string) *Overview {
	return &Overview{Namespaces: map[string]*NamespaceOverview{}, Store: store, Warnings: warnings}
}

// AddClaim counts an open claim.
func (o *Overview) AddClaim(c *Claim) {
	n := o.namespace(c.Namespace)
	switch c.State {
	case InProgress:
		n.InProgress++
		n.OldestInProgress = earliest(n.OldestInProgress, c.FirstClaimedAt)
	case Expired:
		n.Expired++
	case Parked:
		n.Parked++
	}
}

// AddEntity counts a flagged entity.
func (o *Overview) AddEntity(e *ListedEntity) {
	n := o.namespace(e.Namespace)
	n.NeedsReconcile++
	n.OldestNeedsReconcile = earliest(n.OldestNeedsReconcile, e.FlaggedAt)
}

func (o *Overview) namespace(name string) *NamespaceOverview {
	n := o.Namespaces[name]
	if n == nil {
		n = &NamespaceOverview{}
		o.Namespaces[name] = n
	}
	return n
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
