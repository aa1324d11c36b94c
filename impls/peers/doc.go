// Package peers measures what the locks of lockbench cost beside the libraries that do the same work: redsync, bsm/redislock,
// rueidislock, and a bare loop of SET NX and EVALSHA. All run in one process against one redis-server, through connections of
// the same make, in turn within each round, so that a machine that is slow for a while is slow for all of them. What comes out
// is a table in Markdown; the ratios are those of one round, and of these the median.
//
//	go test ./impls/peers -run '^$' -bench Locks -benchtime 6x
//
// The package holds nothing but that benchmark. It refuses to judge: a lock that is faster because it promises less is
// faster, and what each promises is for the suite to say.
package peers
