// Copyright 2026 The Sluice Authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice.dev/pkg/core/propagation"
	"sluice.dev/pkg/outcome"
	"sluice.dev/pkg/redis/claims"
	"sluice.dev/pkg/redis/schema"
	"sluice.dev/pkg/redis/suspension"
	"sluice.dev/test/redistest"
)

var errLoad = errors.New("the hub is away")

// loadHub loads one policy, one claimed template and one that waits.
func loadHub(ctx context.Context, r *claims.Rebuild) error {
	p := policy("shop/web", 5, "Deployment")
	return errors.Join(
		r.IndexPolicy(ctx, p, claims.SelectorsOf(p)),
		r.Suspend(ctx, p.Key, suspension.Suspension{Clusters: []string{"m1"}}),
		r.Record(ctx, template("Deployment shop/a"), p.Claim(), propagation.Sighting{}),
		r.Park(ctx, template("Deployment shop/b"), labelled("app=web"), propagation.Sighting{}),
		r.SuspendBinding(ctx, propagation.BindingKey{Namespace: "shop", Name: "a-deployment"}, suspension.Suspension{Clusters: []string{"m2"}}),
	)
}

func TestRebuildLoadsTheHub(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := claims.New(rdb)
		if err := m.Rebuild(t.Context(), loadHub); err != nil {
			t.Fatal(err)
		}
		a := look(t, m, template("Deployment shop/a"))
		diff(t, claims.View{
			Candidates: []claims.Candidate{{Policy: policyKey("shop/web"), Since: 5, Version: 5}},
			Holder:     claimOf("shop/web"), Epoch: a.Epoch, Revision: a.Revision,
		}, a)
		diff(t, []string{"Deployment shop/a"}, held(t, m, "shop/web", 10))
		diff(t, []string{"Deployment shop/b"}, waiting(t, m, policy("web", 7, "Deployment app=web"), 10))
		suspensions := suspension.New(rdb)
		for cluster, want := range map[string]suspension.Verdict{
			"m1": {Suspended: true, By: "policy shop/web"},
			"m2": {Suspended: true, By: "binding shop/a-deployment"},
			"m3": {},
		} {
			got, err := suspensions.Check(t.Context(), template("Deployment shop/a"), propagation.BindingKey{Namespace: "shop", Name: "a-deployment"}, cluster, 0)
			if err != nil {
				t.Fatal(err)
			}
			diff(t, want, got)
		}
	})
}

type rebuildRow struct {
	load    func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error
	wantErr error
}

// interrupted rebuilds must all end not built.
var interruptedRows = map[string]rebuildRow{
	"loading fails": {
		load: func(ctx context.Context, r *claims.Rebuild, _ redis.UniversalClient) error {
			return errors.Join(loadHub(ctx, r), errLoad)
		},
		wantErr: errLoad,
	},
	"redis is flushed before the last write": {
		load: func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error {
			return errors.Join(rdb.FlushAll(ctx).Err(), loadHub(ctx, r))
		},
		wantErr: claims.ErrLockLost,
	},
	"redis is flushed after the last write": {
		load: func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error {
			return errors.Join(loadHub(ctx, r), rdb.FlushAll(ctx).Err())
		},
		wantErr: claims.ErrLockLost,
	},
	"redis is flushed and the loader does not care about errors": {
		load: func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error {
			_ = rdb.FlushAll(ctx)
			_ = loadHub(ctx, r)
			return nil
		},
		wantErr: claims.ErrLockLost,
	},
	"the lock expires": {
		load: func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error {
			return errors.Join(rdb.Del(ctx, schema.Lock).Err(), loadHub(ctx, r))
		},
		wantErr: claims.ErrLockLost,
	},
	"the lock is another's": {
		load: func(ctx context.Context, r *claims.Rebuild, rdb redis.UniversalClient) error {
			return errors.Join(rdb.Set(ctx, schema.Lock, "another", 0).Err(), loadHub(ctx, r))
		},
		wantErr: claims.ErrLockLost,
	},
}

func TestAnInterruptedRebuildLeavesNothingBuilt(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for name, tc := range interruptedRows {
			t.Run(name, func(t *testing.T) {
				if err := rdb.FlushAll(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				m := claims.New(rdb)
				err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error { return tc.load(ctx, r, rdb) })
				if !errors.Is(err, tc.wantErr) {
					t.Errorf("rebuild: %v, want %v", err, tc.wantErr)
				}
				if built, err := m.Built(t.Context()); built || err != nil {
					t.Errorf("built %t, %v", built, err)
				}
				if _, err := m.Look(t.Context(), template("Deployment shop/a")); !errors.Is(err, outcome.ErrNotBuilt) {
					t.Errorf("look: %v, want %v", err, outcome.ErrNotBuilt)
				}
			})
		}
	})
}

func TestRebuildBeginsFromEmpty(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := claims.New(rdb)
		err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error { return errors.Join(loadHub(ctx, r), errLoad) })
		if !errors.Is(err, errLoad) {
			t.Fatalf("rebuild: %v, want %v", err, errLoad)
		}
		if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Deployment shop/a", "Deployment shop/b"} {
			v := look(t, m, template(name))
			diff(t, claims.View{Epoch: v.Epoch, Revision: v.Revision}, v)
		}
		diff(t, []string(nil), held(t, m, "shop/web", 10))
		diff(t, []string(nil), waiting(t, m, policy("web", 7, "Deployment"), 10))
	})
}

// begun loads a policy and two parts of templates, of which it says how far it came,
// and one template more, and fails.
func begun(t *testing.T, m *claims.Map) {
	t.Helper()
	err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error {
		return errors.Join(
			loadHub(ctx, r), r.Reach(ctx, "Deployment", ""),
			r.Record(ctx, template("Secret shop/c"), claimOf("shop/web"), propagation.Sighting{}), r.Reach(ctx, "Secret", "after c"),
			r.Record(ctx, template("Secret shop/d"), claimOf("shop/web"), propagation.Sighting{}), errLoad)
	})
	if !errors.Is(err, errLoad) {
		t.Fatalf("rebuild: %v, want %v", err, errLoad)
	}
}

// TestARebuildGoesOn: what takes longer than one has time is not begun anew by the
// next, but for policies and suspensions, which may have gone meanwhile.
func TestARebuildGoesOn(t *testing.T) {
	type reached struct {
		At    string
		Begun bool
	}
	all, none := []string{"Secret shop/c", "Secret shop/d", "Deployment shop/a"}, []string(nil)
	for sentence, tc := range map[string]struct {
		befalls  func(t *testing.T, m *claims.Map, rdb redis.UniversalClient) error
		want     map[string]reached
		wantHeld []string
	}{
		"where the last one ended": {
			befalls: func(*testing.T, *claims.Map, redis.UniversalClient) error { return nil },
			want:    map[string]reached{"Deployment": {"", true}, "Secret": {"after c", true}, "Job": {}}, wantHeld: all,
		},
		"where the one before the last ended, for the last came nowhere": {
			befalls: func(t *testing.T, m *claims.Map, _ redis.UniversalClient) error {
				if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return errLoad }); !errors.Is(err, errLoad) {
					return err
				}
				return nil
			},
			want: map[string]reached{"Deployment": {"", true}, "Secret": {"after c", true}, "Job": {}}, wantHeld: all,
		},
		"from the start after a flush": {
			befalls: func(t *testing.T, _ *claims.Map, rdb redis.UniversalClient) error {
				return rdb.FlushAll(t.Context()).Err()
			},
			want: map[string]reached{"Deployment": {}, "Secret": {}, "Job": {}}, wantHeld: none,
		},
		"from the start where all is to be built anew": {
			befalls: func(t *testing.T, m *claims.Map, _ redis.UniversalClient) error { return m.Reset(t.Context()) },
			want:    map[string]reached{"Deployment": {}, "Secret": {}, "Job": {}}, wantHeld: none,
		},
		"from the start where that was too long ago": {
			befalls: func(t *testing.T, _ *claims.Map, rdb redis.UniversalClient) error {
				if left := rdb.PTTL(t.Context(), schema.Progress).Val(); left <= 0 {
					return fmt.Errorf("it expires after %s", left)
				}
				return rdb.PExpire(t.Context(), schema.Progress, 0).Err()
			},
			want: map[string]reached{"Deployment": {}, "Secret": {}, "Job": {}}, wantHeld: none,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			redistest.Each(t, func(t *testing.T, s *redistest.Server) {
				rdb := s.Client(t)
				m := claims.New(rdb)
				begun(t, m)
				if err := tc.befalls(t, m, rdb); err != nil {
					t.Fatal(err)
				}
				err := m.Rebuild(t.Context(), func(_ context.Context, r *claims.Rebuild) error {
					got := map[string]reached{}
					for part := range tc.want {
						at, begun := r.At(part)
						got[part] = reached{at, begun}
					}
					diff(t, tc.want, got)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				diff(t, tc.wantHeld, held(t, m, "shop/web", 10))
				a := look(t, m, template("Deployment shop/a"))
				if len(a.Candidates) > 0 || a.Holder.Held() != (tc.wantHeld != nil) {
					t.Errorf("candidates %v, holder %v: want none of the policies that were loaded before", a.Candidates, a.Holder)
				}
				if verdict, err := suspension.New(rdb).Check(t.Context(), template("Deployment shop/a"), propagation.BindingKey{}, "m1", 0); err != nil || verdict.Suspended {
					t.Errorf("suspended: %v, %v: want none of the suspensions that were loaded before", verdict, err)
				}
				if n := rdb.Exists(t.Context(), schema.Progress).Val(); n != 0 {
					t.Error("what is built says how far it came")
				}
			})
		})
	}
}

// TestARebuildThatGoesOnIsNewerThanWhatItKeeps: also where the clock of Redis was put back
// in between, or stood still. Otherwise whatever is decided about such a template counts
// as outdated for ever.
func TestARebuildThatGoesOnIsNewerThanWhatItKeeps(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb, key := s.Client(t), template("Deployment shop/a")
		m := claims.New(rdb)
		err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error {
			ahead := rdb.Set(ctx, schema.Revision, time.Now().Add(time.Hour).UnixMicro(), 0).Err()
			return errors.Join(ahead, r.Park(ctx, key, nil, propagation.Sighting{}), r.Reach(ctx, "Deployment", ""), errLoad)
		})
		if !errors.Is(err, errLoad) {
			t.Fatalf("rebuild: %v, want %v", err, errLoad)
		}
		if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if err := m.Record(t.Context(), key, claimOf("shop/web"), propagation.Sighting{}, look(t, m, key).Revision); err != nil {
			t.Error(err)
		}
	})
}

// TestAStrangerNotesNoProgress: a rebuild that was given up as dead says nothing any
// more of how far another came.
func TestAStrangerNotesNoProgress(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		err := claims.New(rdb).Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error {
			return errors.Join(rdb.Set(ctx, schema.Lock, "another", 0).Err(), r.Reach(ctx, "Deployment", ""))
		})
		if n := rdb.Exists(t.Context(), schema.Progress).Val(); n != 0 || !errors.Is(err, claims.ErrLockLost) {
			t.Errorf("rebuild: %v, %d noted", err, n)
		}
	})
}

func TestRebuildKeepsOthersOut(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		m := claims.New(s.Client(t))
		err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error {
			if err := loadHub(ctx, r); err != nil {
				return err
			}
			for _, c := range life {
				if err := c.do(ctx, m); !errors.Is(err, outcome.ErrNotBuilt) {
					t.Errorf("%s while rebuilding: %v, want %v", c.name, err, outcome.ErrNotBuilt)
				}
			}
			err := m.Rebuild(ctx, func(context.Context, *claims.Rebuild) error {
				t.Error("a second rebuild runs")
				return nil
			})
			if !errors.Is(err, claims.ErrRebuilding) || !errors.Is(err, outcome.ErrNotBuilt) {
				t.Errorf("a second rebuild: %v, want %v", err, claims.ErrRebuilding)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { return errLoad }); err != nil {
			t.Errorf("a rebuild of what is built: %v, want nothing to happen", err)
		}
	})
}

func TestAPanicGivesTheLockBack(t *testing.T) {
	m := claims.New(redistest.Real(t).Client(t))
	func() {
		defer func() { _ = recover() }()
		_ = m.Rebuild(t.Context(), func(context.Context, *claims.Rebuild) error { panic("malformed") })
	}()
	if err := m.Rebuild(t.Context(), loadHub); err != nil {
		t.Errorf("a rebuild after a panic: %v", err)
	}
}

func TestALongRebuildKeepsItsLock(t *testing.T) {
	rdb := redistest.Real(t).Client(t)
	m := claims.New(rdb)
	const lease = 6 * time.Second
	m.SetLease(lease)
	err := m.Rebuild(t.Context(), func(ctx context.Context, _ *claims.Rebuild) error {
		if err := rdb.PExpire(ctx, schema.Lock, time.Hour).Err(); err != nil {
			return err
		}
		for { // until the lease is set again
			if left, err := rdb.PTTL(ctx, schema.Lock).Result(); err != nil || left <= lease {
				return err
			}
		}
	})
	if err != nil {
		t.Error(err)
	}
}

func TestLosingTheLockEndsTheLoad(t *testing.T) {
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		m := claims.New(rdb)
		m.SetLease(300 * time.Millisecond)
		err := m.Rebuild(t.Context(), func(ctx context.Context, _ *claims.Rebuild) error {
			if err := rdb.FlushAll(ctx).Err(); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, claims.ErrLockLost) {
			t.Errorf("rebuild: %v, want %v", err, claims.ErrLockLost)
		}
	})
}

// TestRebuildersDoNotMix lets rebuilders fight over a Redis that is flushed at
// random. Whatever is built at the end was loaded by one of them.
func TestRebuildersDoNotMix(t *testing.T) {
	const rebuilders, templates = 6, 20
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		rdb := s.Client(t)
		for round := range map[string]int{"unix": 10, "tcp": 2}[s.Network] {
			var wg sync.WaitGroup
			for i := range rebuilders {
				wg.Go(func() {
					m, me := claims.New(rdb), claimOf(fmt.Sprintf("shop/p%d", i))
					for range 5 {
						err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error { return loadAs(ctx, r, me, templates) })
						if err != nil && !errors.Is(err, outcome.ErrNotBuilt) {
							t.Errorf("round %d: rebuild: %v", round, err)
						}
						if rand.IntN(8) == 0 {
							rdb.FlushAll(t.Context())
						}
					}
				})
			}
			wg.Wait()
			m := claims.New(rdb)
			err := m.Rebuild(t.Context(), func(ctx context.Context, r *claims.Rebuild) error {
				return loadAs(ctx, r, claimOf("shop/last"), templates)
			})
			if err != nil {
				t.Fatalf("round %d: the last rebuild: %v", round, err)
			}
			holder := look(t, m, template("Deployment shop/d0")).Holder
			if n := len(held(t, m, holder.Policy.Namespace+"/"+holder.Policy.Name, 100)); n != templates {
				t.Errorf("round %d: %s holds %d templates of %d", round, holder.Policy, n, templates)
			}
			if n := rdb.ZCard(t.Context(), schema.Held).Val(); n != templates {
				t.Errorf("round %d: %d templates are held, want %d", round, n, templates)
			}
			rdb.FlushAll(t.Context())
		}
	})
}

func loadAs(ctx context.Context, r *claims.Rebuild, me propagation.Claim, templates int) error {
	for i := range templates {
		if err := r.Record(ctx, template(fmt.Sprintf("Deployment shop/d%d", i)), me, propagation.Sighting{}); err != nil {
			return err
		}
	}
	return nil
}
