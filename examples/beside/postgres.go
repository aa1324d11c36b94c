package main

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lockbench/lockbench/subject"
)

// postgres is one connection, made anew when it is broken.
type postgres struct {
	addr string
	conn *pgx.Conn
}

func (p *postgres) open(ctx context.Context) (*pgx.Conn, error) {
	if p.conn != nil && !p.conn.IsClosed() {
		return p.conn, nil
	}
	conn, err := pgx.Connect(ctx, "postgres://postgres@"+p.addr+"/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	p.conn = conn
	// one client creates them: two that do at once fail, in spite of IF NOT EXISTS
	_, err = conn.Exec(ctx, `SELECT pg_advisory_xact_lock(0); CREATE SEQUENCE IF NOT EXISTS fences; CREATE TABLE IF NOT EXISTS locks (key text PRIMARY KEY)`)
	return conn, err
}

// pgAdvisory is pg_advisory_lock: held by a connection until it unlocks or ends. It has no lease
// and no fence.
type pgAdvisory struct {
	postgres
	key string
}

func newPgAdvisory(addr string) subject.Factory {
	return func(cfg subject.Config) (any, error) { return &pgAdvisory{postgres{addr: addr}, cfg.Key}, nil }
}

func (l *pgAdvisory) Lock(ctx context.Context) error {
	conn, err := l.open(ctx)
	if err == nil {
		// a context that ends closes the connection
		_, err = conn.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended($1, 0))", l.key)
	}
	return err
}

func (l *pgAdvisory) Unlock(ctx context.Context) error {
	var held bool
	err := l.conn.QueryRow(ctx, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", l.key).Scan(&held)
	if err == nil && !held {
		err = errNotHeld
	}
	return err
}

// Describe adds that the server ends no hold by time, and wakes the next.
func (*pgAdvisory) Describe() subject.Description {
	return subject.Description{Name: "PostgreSQL advisory lock", Can: []string{"no-lease", "wakeups"}}
}

// pgRow is a row that a transaction holds FOR UPDATE SKIP LOCKED. The fence is a sequence's, which
// a rolled-back transaction does not take back.
type pgRow struct {
	postgres
	key   string
	tx    pgx.Tx
	fence uint64
}

func newPgRow(addr string) subject.Factory {
	return func(cfg subject.Config) (any, error) {
		return &pgRow{postgres: postgres{addr: addr}, key: cfg.Key}, nil
	}
}

func (l *pgRow) TryLock(ctx context.Context) (bool, error) {
	conn, err := l.open(ctx)
	if err == nil {
		_, err = conn.Exec(ctx, "INSERT INTO locks VALUES ($1) ON CONFLICT DO NOTHING", l.key)
	}
	if err != nil {
		return false, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return false, err
	}
	err = tx.QueryRow(ctx, "SELECT nextval('fences') FROM (SELECT key FROM locks WHERE key = $1 FOR UPDATE SKIP LOCKED) AS mine", l.key).Scan(&l.fence)
	if err == nil {
		l.tx = tx
		return true, nil
	}
	busy := errors.Is(err, pgx.ErrNoRows)
	if rerr := tx.Rollback(context.WithoutCancel(ctx)); busy {
		return false, rerr
	}
	return false, err
}

func (l *pgRow) Unlock(ctx context.Context) error { return l.tx.Commit(ctx) }
func (l *pgRow) Fence() uint64                    { return l.fence }

// Describe adds that the server ends no hold by time.
func (*pgRow) Describe() subject.Description {
	return subject.Description{Name: "PostgreSQL row", Can: []string{"no-lease"}}
}
