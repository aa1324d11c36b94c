package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// rows are hand-made runs, at least one for each cause. The comment above each says what happened.
var rows = []struct{ what, text string }{
	// Both clients write the key without a condition: the second SET succeeds whatever is left out.
	{"a blind SET", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a PX 300 -> OK
		c2 acquire 10-12 ok valid=310 : SET job b PX 300 -> OK
		violation mutual-exclusion 12-300 c1 c2 = double-grant`},
	// The clients asked in one millisecond, and of two equal deadlines the smaller token is first, although c1 was granted before. No clock is wrong.
	{"a tie between two deadlines", `
		lock mutex 300
		c1 acquire 10-10.3 ok valid=310 : ZREMRANGEBYSCORE job -inf 946684800010 -> 0 @10-10.1 | ZADD job 946684800310 b -> 1 @10.1-10.2 | ZRANK job b -> 0 @10.2-10.3
		c2 acquire 10-10.7 ok valid=310 : ZREMRANGEBYSCORE job -inf 946684800010 -> 0 @10.3-10.4 | ZADD job 946684800310 a -> 1 @10.4-10.5 | ZRANK job a -> 0 @10.5-10.6
		c3 acquire 20-26 busy : ZREMRANGEBYSCORE job -inf 946684800020 -> 0 @20-21 | ZADD job 946684800320 c -> 1 @21-22 | ZRANK job c -> 2 @22-23 | ZREM job c -> 1 @23-24
		violation mutual-exclusion 10.7-300 c1 c2 = double-grant`},
	// c2 read c1's deadline, in a text with its owner's name, when it was past, and took the key over. Then it released its own hold and asked again.
	{"a deadline in a text", `
		lock mutex 100
		c1 acquire 0-2 ok valid=100 : SETNX job 946684800100:c1 -> 1
		c1 use 2-300
		c3 acquire 20-23 busy : SETNX job 946684800120:c3 -> 0 @20-21 | GET job -> "946684800100:c1" @21-22
		c2 acquire 110-114 ok valid=210 : SETNX job 946684800210:c2 -> 0 @110-111 | GET job -> "946684800100:c1" @111-112 | SET job 946684800210:c2 -> OK @112-113
		c2 release 120-121 ok : DEL job -> 1
		c2 acquire 130-132 ok valid=230 : SETNX job 946684800230:c2 -> 1
		violation exclusive-use 132-300 c1 c2 = lease-overrun`},
	// Both found the key free and wrote the same value: the second SET changes nothing, but is a grant.
	{"look, then write", `
		lock mutex 0
		c1 acquire 0-6 ok : EXISTS job -> 0 @0-1 | SET job 1 -> OK @4-5
		c2 acquire 0-8 ok : EXISTS job -> 0 @2-3 | SET job 1 -> OK @6-7
		violation mutual-exclusion 8-50 c1 c2 = double-grant`},
	// c1's lease ends at 301 and c2 is granted; c1's DEL at 350 deletes c2's key, so c3 is granted beside c2. Without that DEL c3 is refused.
	// Between c1 and c2 it was the end of the lease, which c1 knew.
	{"a release that does not compare the token", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job 1 NX PX 300 -> OK
		c1 use 2-349
		c2 acquire 310-312 ok valid=610 : SET job 1 NX PX 300 -> OK
		c2 use 312-500
		c1 release 350-352 ok : DEL job -> 1
		c3 acquire 360-362 ok valid=660 : SET job 1 NX PX 300 -> OK
		violation mutual-exclusion 362-610 c2 c3 = mis-unlock
		violation release-safety 350-352 c1 = mis-unlock
		violation linearizability 351 c1 = mis-unlock
		violation exclusive-use 312-349 c1 c2 = lease-overrun`},
	// A release counts the generation up, whoever holds: without c1's, c3 had read the generation 4 again, and had found its key.
	{"a key named after what was read", `
		lock mutex 300
		c9 background 0-1 : SET gen 4 -> OK
		c2 acquire 2-6 ok valid=302 : GET gen -> "4" @2-3 | SET g4 b NX PX 300 -> OK @4-5
		c3 acquire 10-34 ok valid=330 : GET gen -> "4" @10-11 | SET g4 c NX PX 300 -> (nil) @12-13 | GET gen -> "5" @30-31 | SET g5 c NX PX 300 -> OK @32-33
		c1 release 20-21 ok : INCR gen -> 5
		violation mutual-exclusion 34-302 c2 c3 = mis-unlock`},
	// The lock is free while its key is there. Without c4's release c2 had gone on as before, with a request that was refused.
	{"taken by a deletion", `
		lock mutex 300
		c1 acquire 0-4 ok valid=300 : DEL job -> 0 @0-1 | SET held a NX PX 300 -> OK @2-3
		c1 release 20-24 ok : DEL held -> 1 @20-21 | SET job 1 -> OK @22-23
		c3 acquire 30-34 ok valid=330 : DEL job -> 1 @30-31 | SET held c PX 300 -> OK @32-33
		c2 acquire 40-64 ok valid=360 : DEL job -> 0 @40-41 | SET held b NX PX 300 -> (nil) @42-43 | DEL job -> 1 @60-61 | SET held b PX 300 -> OK @62-63
		c4 release 50-54 ok : DEL held -> 1 @50-51 | SET job 1 -> OK @52-53
		violation mutual-exclusion 64-330 c3 c2 = mis-unlock`},
	// Readers share one field, which c2 deletes when it leaves although c1 is still inside: the writer finds nobody.
	{"one mark for two readers", `
		lock rw 0
		c1 acquire 0-2 ok shared : HSET job r 1 -> 1
		c2 acquire 10-12 ok shared : HSET job r 1 -> 0
		c2 release 20-22 ok : HDEL job r -> 1
		c3 acquire 30-32 ok : HSETNX job w 1 -> 1 @31-32 | HEXISTS job r -> 0 @30-31
		violation mutual-exclusion 32-100 c1 c3 = reader-evicted`},
	// c2's only request took nearly all of the time: it slept on nothing.
	{"a request that was long under way", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 release 30-31 ok : DEL job -> 1
		c2 acquire 20-2005 ok valid=2300 : SET job b NX PX 300 -> (nil) @20-1950 | SET job b NX PX 300 -> OK @2000-2005
		violation progress 31-2000 c2 = unknown`},
	// The key expires at 301, although c1 was granted until 600.
	{"a promise longer than the lease on the server", `
		lock mutex 600
		c1 acquire 0-2 ok valid=600 : SET job a NX PX 300 -> OK
		c2 acquire 310-312 ok valid=910 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 312-600 c1 c2 = overbelief`},
	// The lock renews in the background, once at 100 and then no more: the key ends at 401 under a client that was promised renewals.
	{"a watchdog that stopped", `
		lock mutex 300
		c1 acquire 0-2 ok valid=9000 : SET job a NX PX 300 -> OK
		c1 background 100-102 : PEXPIRE job 300 -> 1
		c2 acquire 410-412 ok valid=9000 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 412-600 c1 c2 = renewal-gap`},
	// The watchdog says at 100 and at 200 that it renewed: the first time its command changes nothing, the second time it sends none. The key ends at 301,
	// and c1 learns it at 320.
	{"a watchdog that only says so", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 2-500
		c1 extend 100-102 ok valid=400 : EXISTS job -> 1
		c1 extend 200-200 ok valid=500
		c2 acquire 310-312 ok valid=610 : SET job b NX PX 300 -> OK
		c2 use 312-450
		c1 extend 320-321 lost : EXISTS job -> 1
		violation mutual-exclusion 312-320 c1 c2 = renewal-gap
		violation exclusive-use 330-450 c1 c2 = renewal-gap`},
	// The same, but it says so for the first time when the lease has ended: a renewal would have come too late.
	{"a watchdog that only says so, too late", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 2-500
		c2 acquire 310-312 ok valid=610 : SET job b NX PX 300 -> OK
		c1 extend 320-321 ok valid=620 : EXISTS job -> 1
		violation mutual-exclusion 321-610 c2 c1 = overbelief`},
	// The reader's mark ends at 301 and the writer comes in; then the reader extends, and the blind SET makes its mark again.
	{"an extend that creates the key again", `
		lock rw 300
		c1 acquire 0-2 ok shared valid=300 : SET job:r a PX 300 -> OK
		c2 acquire 310-330 ok valid=630 : EXISTS job:r -> 0 @311-312 | SET job:w b NX PX 300 -> OK @313-314
		c1 extend 320-322 ok valid=620 : SET job:r a PX 300 -> OK @320-321
		violation mutual-exclusion 330-620 c1 c2 = resurrection`},
	// The node restarted without the key, and granted it again while c1 still held.
	{"a restart without the key", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 restarted turn=0 lost=job
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = restart-loss`},
	// c1 deleted its key while it still believed in it; the restart at 60 lost nothing that was the lock's.
	{"a restart after the key was gone", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		c1 background 50-52 : DEL job -> 1
		effect n0 60 restarted turn=0
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = own-release`},
	// The promoted replica did not have c1's key.
	{"a failover without the key", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 promoted turn=0 lost=job
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = failover-loss`},
	// The clock of the node jumps a second ahead: the lease ends at once. By true time it would have lasted to 1001. The end of the lease alone would
	// explain the second grant as well; the jump is nearer to the root cause.
	{"a clock that jumps", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 clock-set by=1000
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = clock-jump`},
	// A jump of the clock ends c1's lease and lets c2 in: that they meet at 61 is its doing. At 300 c1 no longer believes, and then renews c2's key without
	// comparing: that it believes again is not.
	{"a renewal of another's key after a jump of the clock", `
		lock mutex 300
		c1 acquire 0-1 ok valid=300 : SET job a NX PX 300 -> OK
		effect n0 50 clock-set by=1000
		c2 acquire 60-61 ok valid=360 : SET job b NX PX 300 -> OK
		c1 extend 320-321 ok valid=620 : PEXPIRE job 300 -> 1
		violation mutual-exclusion 61-300 c1 c2 = clock-jump
		violation mutual-exclusion 321-360 c2 c1 = mis-unlock`},
	// The same after a restart without the key.
	{"a renewal of another's key after a restart", `
		lock mutex 300
		c1 acquire 0-1 ok valid=300 : SET job a NX PX 300 -> OK
		effect n0 50 restarted turn=0 lost=job
		c2 acquire 60-61 ok valid=360 : SET job b NX PX 300 -> OK
		c1 extend 320-321 ok valid=620 : PEXPIRE job 300 -> 1
		violation mutual-exclusion 61-300 c1 c2 = restart-loss
		violation mutual-exclusion 321-360 c2 c1 = mis-unlock`},
	// c1, which had waited for its grant at 500, believed until 800 when it renewed c2's key: that they meet is the doing of the jump.
	{"a renewal of another's key by a client that still believed", `
		lock mutex 300
		c3 acquire 0-1 ok valid=499 : SET job c NX PX 499 -> OK
		c1 acquire 2-502 ok : SET job a NX PX 300 -> (nil) @2-3 | SET job a NX PX 300 -> OK @500-502
		effect n0 550 clock-set by=1000
		c2 acquire 560-561 ok valid=860 : SET job b NX PX 300 -> OK
		c1 extend 600-601 ok valid=900 : PEXPIRE job 300 -> 1
		violation mutual-exclusion 601-860 c2 c1 = clock-jump`},
	// Two jumps of 200 ms end c1's lease as soon as it begins, and either would. Had the clock been right from the start, c3's lease would have kept c1 out
	// and ended before c2 asked; c1's, with the clock set right when it was granted, would not.
	{"jumps of the clock before the first hold", `
		lock mutex 100
		effect n0 10 clock-set by=200
		effect n0 20 clock-set by=200
		c3 acquire 50-52 ok valid=150 : SET job c NX PXAT 946684800150 -> OK
		c1 acquire 100-102 ok valid=200 : SET job a NX PXAT 946684800200 -> OK
		c2 acquire 160-162 ok valid=260 : SET job b NX PXAT 946684800260 -> OK
		violation mutual-exclusion 162-200 c1 c2 = clock-jump`},
	// An operator deleted the key.
	{"a key deleted by an operator", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 deleted lost=job
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = key-deleted`},
	// The server was out of memory.
	{"an evicted key", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 evicted lost=job
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = eviction`},
	// The keys of c1 and of c3, which was granted beside it, were evicted. Without the first eviction alone the second frees the key of c1; without the
	// second alone it is c3 that is in c2's way.
	{"two keys that were evicted", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 evicted lost=job
		c3 acquire 110-112 ok valid=1110 : SET job c NX PX 1000 -> OK
		effect n0 120 evicted lost=job
		c2 acquire 130-132 ok valid=1130 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 132-1000 c1 c2 = eviction`},
	// The fence counter was deleted with the keys, and c1 had released before: only the deletion made the second fence small.
	{"a fence counter that was deleted", `
		lock mutex 1000
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx') then return redis.call('incr', 'fence') end return 0
		c1 acquire 0-2 ok fence=1 : EVALSHA take 1 job a -> 1
		c1 release 10-12 ok : DEL job -> 1
		effect n0 100 deleted lost=fence
		c2 acquire 110-112 ok fence=1 : EVALSHA take 1 job b -> 1
		violation fencing-order 112 c2 c1 = key-deleted`},
	// The replica that took over had the deletion, too: it lost nothing.
	{"a fence counter that was deleted before a promotion", `
		lock mutex 0
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx') then return redis.call('incr', 'fence') end return 0
		c1 acquire 0-2 ok fence=1 : EVALSHA take 1 job a -> 1
		c1 release 10-12 ok : DEL job -> 1
		effect n0 100 deleted turn=2 lost=fence
		effect n0 200 promoted turn=2
		c2 acquire 210-212 ok fence=1 : EVALSHA take 1 job b -> 1
		violation fencing-order 212 c2 c1 = key-deleted`},
	// The fence counter was deleted twice. Without either deletion alone c4's fence would not be larger than c2's, without both it would be.
	{"a fence counter that was deleted twice", `
		lock mutex 0
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx') then return redis.call('incr', 'fence') end return 0
		c1 acquire 0-2 ok fence=1 : EVALSHA take 1 job a -> 1
		c1 release 50-52 ok : DEL job -> 1
		c2 acquire 60-62 ok fence=2 : EVALSHA take 1 job b -> 2
		c2 release 70-72 ok : DEL job -> 1
		effect n0 100 deleted lost=fence
		c3 acquire 110-112 ok fence=1 : EVALSHA take 1 job c -> 1
		c3 release 120-122 ok : DEL job -> 1
		effect n0 150 deleted lost=fence
		c4 acquire 160-162 ok fence=1 : EVALSHA take 1 job d -> 1
		violation fencing-order 162 c4 c2 = key-deleted`},
	// The node's clock runs at twice the rate from 50 on: the lease of 301 ends at 175 by true time. Without the drift c2 would have been refused.
	{"a clock that runs fast since the grant", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		effect n0 50 clock-rate ppm=1000000
		c2 acquire 180-182 ok valid=480 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 182-300 c1 c2 = clock-skew`},
	// The clock ran fast from 50 to 250, and was set right then: the lease ended at 301, when it was due. Without the drift alone, what set the clock
	// right would set it back.
	{"a clock that ran fast and was set right", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 2-400
		fault drift-clock n0 50-250
		effect n0 50 clock-rate ppm=100000
		effect n0 250 clock-rate
		effect n0 250 clock-set by=-20
		c2 acquire 305-307 ok valid=605 : SET job b NX PX 300 -> OK
		c2 use 307-350
		violation exclusive-use 307-350 c1 c2 = lease-overrun`},
	// The key holds its expiry, and every client compares that with its own clock: c2's is 5 s ahead.
	{"a lease judged by a clock that is off", `
		lock mutex 1000
		script steal : local v = redis.call('get', KEYS[1]) if v and tonumber(v) > tonumber(ARGV[1]) then return 0 end redis.call('set', KEYS[1], ARGV[1] + 1000) return 1
		c1 acquire 0-2 ok valid=1000 : EVALSHA steal 1 job 946684800000 -> 1
		c2 acquire 100-102 ok valid=1100 : EVALSHA steal 1 job 946684805100 -> 1
		violation mutual-exclusion 102-1000 c1 c2 = clock-skew`},
	// c2's clock is ahead: it overwrites c1's key, and then deletes its own. c3 is granted beside c1 because of c2's grant, not because of c2's
	// rightful release.
	{"a clock that is ahead, a release, and a third", `
		lock mutex 1000
		script take : local v = redis.call('get', KEYS[1]) if v and tonumber(ARGV[1]) - tonumber(v) <= 1000 then return 0 end redis.call('set', KEYS[1], ARGV[1]) return 1
		script leave : if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0
		c1 acquire 0-2 ok valid=1000 : EVALSHA take 1 job 946684800000 -> 1
		c2 acquire 100-102 ok valid=1100 : EVALSHA take 1 job 946684805100 -> 1
		c2 release 200-202 ok : EVALSHA leave 1 job 946684805100 -> 1
		c3 acquire 300-302 ok valid=1300 : EVALSHA take 1 job 946684800300 -> 1
		violation mutual-exclusion 302-1000 c1 c3 = clock-skew`},
	// c1 was granted first, because c2's clock is ahead and c1's is not, although c2 learnt of its grant earlier.
	{"a grant whose reply came later than the next", `
		lock mutex 1000
		script take : local v = redis.call('get', KEYS[1]) if v and tonumber(ARGV[1]) - tonumber(v) <= 1000 then return 0 end redis.call('set', KEYS[1], ARGV[1]) return 1
		c1 acquire 100-130 ok valid=1100 : EVALSHA take 1 job 946684800100 -> 1 @100-125
		c2 acquire 112-113 ok valid=1112 : EVALSHA take 1 job 946684805112 -> 1 @112-113
		violation mutual-exclusion 130-1100 c2 c1 = clock-skew`},
	// The same, but the client compares: it read a time 900 ms ahead of true time.
	{"a lease judged by a client whose clock is off", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job 946684801000 -> OK
		c2 acquire 100-104 ok valid=1100 : GET job -> "946684801000" @100-102 | SET job 946684806000 -> OK @102-104
		violation mutual-exclusion 104-1000 c1 c2 = clock-skew`},
	// c2 has the vote of one node of three and goes in anyway.
	{"too few votes", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : n0:SET job a NX PX 1000 -> OK @0-1 | n1:SET job a NX PX 1000 -> OK @0-1 | n2:SET job a NX PX 1000 -> (nil) @1-2
		c2 acquire 0-2 ok valid=1000 : n0:SET job b NX PX 1000 -> (nil) @1-2 | n1:SET job b NX PX 1000 -> (nil) @1-2 | n2:SET job b NX PX 1000 -> OK @0-1
		violation mutual-exclusion 2-1000 c1 c2 = quorum-erosion`},
	// Two of three votes each: node 1 had voted for c1, lost that vote in a restart, and voted for c2.
	{"a vote lost in a restart", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : n0:SET job a NX PX 1000 -> OK @0-1 | n1:SET job a NX PX 1000 -> OK @0-1
		effect n1 100 restarted turn=0 lost=job
		c2 acquire 110-114 ok valid=1110 : n0:SET job b NX PX 1000 -> (nil) @110-111 | n1:SET job b NX PX 1000 -> OK @110-111 | n2:SET job b NX PX 1000 -> OK @110-111
		violation mutual-exclusion 114-1000 c1 c2 = restart-loss`},
	// c1 re-entered by its own count after its lease had ended, and sent nothing.
	{"a re-entry without a request", `
		lock reentrant 300
		c1 acquire 0-2 ok valid=300 : SET job c1 NX PX 300 -> OK
		c2 acquire 310-312 ok valid=610 : SET job c2 NX PX 300 -> OK
		c1 acquire 320-320 ok valid=620
		violation mutual-exclusion 320-610 c2 c1 = stale-reentry`},
	// c1 gave up its first try and sent a DEL, whose reply it did not wait for: it arrives after its second try was granted.
	{"a release of an earlier try", `
		lock mutex 1000
		c1 acquire 0-60 ok valid=1050 : DEL job -> 1 @10-130 | SET job a NX PX 1000 -> OK @50-52
		c2 acquire 60-82 ok valid=1080 : SET job b NX PX 1000 -> (nil) @60-61 | SET job b NX PX 1000 -> OK @80-81
		violation mutual-exclusion 82-1050 c1 c2 = late-request`},
	// A background command of c1 deletes the key while c1 is inside.
	{"a client that deletes its own key", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		c1 background 50-52 : DEL job -> 1
		c2 acquire 80-82 ok valid=1080 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 82-1000 c1 c2 = own-release`},
	// c2 acquires the lock after c1's lease and releases it rightly, and then c3 is granted: the end of the lease let c3 in beside c1, not c2's
	// rightful DEL.
	{"a third client in between", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 2-500
		c2 acquire 310-312 ok valid=610 : SET job b NX PX 300 -> OK
		c2 release 320-322 ok : DEL job -> 1
		c3 acquire 330-332 ok valid=630 : SET job c NX PX 300 -> OK
		violation exclusive-use 332-500 c1 c3 = lease-overrun`},
	// c1's two holds end at 304, while it is paused. It goes on in the outer one until 420, and writes; then it gives that back, too, and is told that it
	// is gone. What it had been told ended at 304.
	{"work in an outer hold whose lease was over", `
		lock reentrant 300
		script take : if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then redis.call('hincrby', KEYS[1], ARGV[1], 1) redis.call('pexpire', KEYS[1], 300) return 1 end return 0
		script give : if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return -1 end if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then return 0 end return redis.call('del', KEYS[1])
		c1 acquire 0-2 ok valid=300 : EVALSHA take 1 job c1 -> 1
		c1 acquire 3-5 ok valid=303 : EVALSHA take 1 job c1 -> 1
		c1 use 5-9
		fault pause-client c1 10-350
		c1 release 10-360 not_held : EVALSHA give 1 job c1 -> -1 @351-359
		c2 acquire 310-312 ok valid=610 : EVALSHA take 1 job c2 -> 1
		c1 write 400-410 ok read=0 wrote=1
		c1 use 360-420
		c1 release 421-422 not_held : EVALSHA give 1 job c1 -> -1
		c2 write 430-440 ok read=0 wrote=1
		c2 use 312-450
		violation store-integrity 430-440 c1 c2 = lease-overrun
		violation exclusive-use 360-420 c1 c2 = lease-overrun`},
	// c1 died with a key without expiry: it refuses c2 for ever.
	{"a key that never expires", `
		lock mutex 300
		c1 acquire 0-2 ok : SETNX job a -> 1
		c2 acquire 100-5000 busy : SETNX job b -> 0 @100-101 | SETNX job b -> 0 @4000-4001
		c3 acquire 3-4 busy : SETNX job c -> 0
		violation progress 400-4500 c2 = no-expiry`},
	// Two clients wrote the same value and neither deleted it: without one SET, the other creates the key. Without both, c1 would be granted.
	{"a key that two have written", `
		lock mutex 0
		c1 acquire 0-6 ok : EXISTS job -> 0 @0-1 | SET job 1 -> OK @4-5
		c2 acquire 0-4 ok : EXISTS job -> 0 @1-2 | SET job 1 -> OK @2-3
		c1 release 30-32 fail
		c2 release 30-32 fail
		c1 acquire 50-2050 fail : EXISTS job -> 1 @50-51
		violation progress 50-2050 c1 = no-expiry`},
	// c2 is refused by the key that its own request made, whose reply it never saw.
	{"a grant whose reply was lost", `
		lock mutex 9000
		c1 acquire 0-1 ok : SET job z NX PX 9000 -> OK
		c1 release 2-3 ok : DEL job -> 1
		c2 acquire 100-5000 busy : SET job b NX PX 9000 -> ? @100-101 | SET job b2 NX PX 9000 -> (nil) @300-301 | SET job b2 NX PX 9000 -> (nil) @4000-4001
		violation refusal 4001 c2 = ambiguous-reply`},
	// The queue entry of a client that is gone blocks all others, and expires late.
	{"a queue entry of a client that is gone", `
		lock mutex 300
		c1 acquire 0-1 ok : SET job z NX PX 9000 -> OK
		c2 acquire 100-5000 busy : SET job b NX PX 9000 -> (nil) @300-301 | SET job b NX PX 9000 -> (nil) @4000-4001
		violation progress 400-5000 c2 = orphan`},
	// c1 was refused and died before it learnt that: what its request left is a claim and no grant, which would have set the lock's key.
	{"a claim of one who did not see its refusal", `
		lock rw 300
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 300) then return {1, redis.call('incr', KEYS[3])} end redis.call('set', KEYS[2], ARGV[1], 'px', 90000) return {0, redis.call('pttl', KEYS[1])}
		script look : if redis.call('exists', KEYS[1], KEYS[2]) > 0 then return 0 end return 1
		c4 acquire 0-1 ok shared : EVALSHA look 2 job claim -> 1
		c3 acquire 2-3 ok : EVALSHA take 3 job claim fence c3 -> [1, 1]
		c1 acquire 10-300 unknown : EVALSHA take 3 job claim fence c1 -> ? @10-11
		fault crash-client c1 11-
		c3 release 20-21 ok : DEL job -> 1
		c2 acquire 100-5000 busy shared : EVALSHA look 2 job claim -> 0 @100-101 | EVALSHA look 2 job claim -> 0 @4000-4001
		violation progress 400-5000 c2 = orphan`},
	// The restart brought back the key of c1, which had released it: its DEL was not on the disk.
	{"a key that a restart brought back", `
		lock mutex 9000
		c1 acquire 0-1 ok : SET job z NX PX 9000 -> OK
		c1 release 2-3 ok : DEL job -> 1
		effect n0 50 restarted turn=1 kept=job
		c2 acquire 100-5000 busy : SET job b NX PX 9000 -> (nil) @300-301 | SET job b NX PX 9000 -> (nil) @4000-4001
		violation progress 400-5000 c2 = restart-loss`},
	// No client is ever granted, and no order explains the reply to c1: the operations prove it.
	{"never granted, with unexplained replies", `
		lock mutex 300
		c1 acquire 0-5000 busy : GET job -> b @10-11 | GET job -> b @4000-4001
		violation progress 300-4900 c1 = never-granted`},
	// No client is ever granted: the script always refuses.
	{"a lock that is never granted", `
		lock mutex 300
		script refuse : return 0 * redis.call('exists', KEYS[1])
		c1 acquire 0-5000 busy : EVALSHA refuse 1 job -> 0 @10-11 | EVALSHA refuse 1 job -> 0 @4000-4001
		violation progress 300-4900 c1 = never-granted`},
	// c2 was refused once and then waited for a message, which it missed: it never tried again, though the lock had become free.
	{"a waiter that missed its wake-up", `
		lock mutex 9000
		c1 acquire 0-2 ok : SET job a NX PX 9000 -> OK
		c2 acquire 10-5000 busy : SET job b NX PX 9000 -> (nil) @10-11
		c1 release 50-52 ok : DEL job -> 1
		violation progress 52-5000 c2 = lost-wakeup`},
	// Two of three keys never expire, and two votes are needed: both are to blame.
	{"two of three keys that never expire", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : n0:SET job a NX -> OK @0-1 | n1:SET job a NX -> OK @0-1 | n2:SET job a NX PX 300 -> OK @0-1
		c2 acquire 10-5000 busy : n0:SET job b NX PX 300 -> (nil) @4000-4001 | n1:SET job b NX PX 300 -> (nil) @4000-4001 | n2:SET job b NX PX 300 -> OK @4000-4001
		violation progress 302-5000 c2 = no-expiry`},
	// The third vote is lost to a restart that brought a key back: the two that never expire would have been enough, that one not.
	{"votes lost to two causes, of which one is enough", `
		lock mutex 9000
		c1 acquire 0-2 ok : n0:SET job a NX -> OK @0-1 | n1:SET job a NX -> OK @0-1 | n2:SET job a NX PX 9000 -> OK @0-1
		c1 release 3-4 fail : n2:DEL job -> 1
		effect n2 50 restarted turn=3 kept=job
		c2 acquire 100-5000 busy : n0:SET job b NX PX 9000 -> (nil) @4000-4001 | n1:SET job b NX PX 9000 -> (nil) @4000-4001 | n2:SET job b NX PX 9000 -> (nil) @4000-4001
		violation progress 400-5000 c2 = no-expiry`},
	// One key never expires, one is back after a restart, and the third lies there by right: neither cause alone would have made the difference.
	{"votes lost to two causes, of which none is enough", `
		lock mutex 9000
		c1 acquire 0-2 ok : n0:SET job a NX -> OK @0-1 | n1:SET job a NX PX 9000 -> OK @0-1 | n2:SET job a NX PX 9000 -> OK @0-1
		c1 release 3-4 fail : n1:DEL job -> 1 @3-3.5 | n2:DEL job -> 1 @3.5-4
		effect n1 50 restarted turn=4 kept=job
		c3 acquire 60-62 busy : n2:SET job c NX PX 9000 -> OK @60-61
		c2 acquire 100-5000 busy : n0:SET job b NX PX 9000 -> (nil) @4000-4001 | n1:SET job b NX PX 9000 -> (nil) @4000-4001 | n2:SET job b NX PX 9000 -> (nil) @4000-4001
		violation progress 400-5000 c2 = unknown`},
	// c2's first two tries got one vote each and left it behind: the third lacks both. Their client saw the replies, which granted nothing.
	{"votes that earlier tries left behind", `
		lock mutex 9000
		c1 acquire 0-2 ok : n0:SET job a NX PX 9000 -> OK @0-1 | n1:SET job a NX PX 9000 -> OK @0-1 | n2:SET job a NX PX 9000 -> OK @0-1
		c1 release 700-742 ok : n0:DEL job -> 1 @700-701 | n1:DEL job -> 1 @720-721 | n2:DEL job -> 1 @740-741
		c2 acquire 705-5000 busy : n0:SET job b NX PX 9000 -> OK @710-711 | n1:SET job b NX PX 9000 -> (nil) @710-711 | n2:SET job b NX PX 9000 -> (nil) @710-711 | n0:SET job c NX PX 9000 -> (nil) @730-731 | n1:SET job c NX PX 9000 -> OK @730-731 | n2:SET job c NX PX 9000 -> (nil) @730-731 | n0:SET job d NX PX 9000 -> (nil) @4000-4001 | n1:SET job d NX PX 9000 -> (nil) @4000-4001 | n2:SET job d NX PX 9000 -> OK @4000-4001
		violation progress 742-5000 c2 = orphan`},
	// c2 lost both votes once and then slept, though both were free from 52 on.
	{"a waiter for votes that missed its wake-up", `
		lock mutex 9000
		c1 acquire 0-2 ok : n0:SET job a NX PX 9000 -> OK @0-1 | n1:SET job a NX PX 9000 -> OK @0-1
		c2 acquire 10-5000 busy : n0:SET job b NX PX 9000 -> (nil) @10-11 | n1:SET job b NX PX 9000 -> (nil) @10-11
		c1 release 50-52 ok : n0:DEL job -> 1 @50-51 | n1:DEL job -> 1 @50-51
		violation progress 52-5000 c2 = lost-wakeup`},
	// c2's SET NX found no key, although nothing in the record deleted c1's: the record cannot explain it.
	{"a reply that no execution explains", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		c2 acquire 110-112 ok valid=1110 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 112-1000 c1 c2 = unknown`},
	// The record has no commands.
	{"a record without commands", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000
		c2 acquire 110-112 ok valid=1110
		violation mutual-exclusion 112-1000 c1 c2 = unknown`},
	// c1's lease ended at 300 and c2 was granted; the release that c1 called after that was accepted, and c3 came in beside c2.
	{"a late release, without commands", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300
		c2 acquire 310-312 ok valid=610
		c1 release 350-352 ok
		c3 acquire 360-362 ok valid=660
		violation mutual-exclusion 362-610 c2 c3 = mis-unlock`},
	// c1 was granted until 300, and was inside until 500.
	{"work after the lease, without commands", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300
		c1 use 2-500
		c2 acquire 310-312 ok valid=610
		c2 use 312-400
		violation exclusive-use 312-400 c1 c2 = lease-overrun`},
}

// explained explains a run and returns its violations.
func explained(t *testing.T, s *story, rec explain.Record) []checker.Violation {
	t.Helper()
	violations, _ := answered(t, s, rec)
	return violations
}

// answered explains a run and returns its violations with the answers.
func answered(t *testing.T, s *story, rec explain.Record) ([]checker.Violation, []explain.Answer) {
	t.Helper()
	srv, err := sim.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	v := &checker.Verdict{Operations: s.counted(), Violations: slices.Clone(s.violations)}
	return v.Violations, findings(t, v, rec, srv).Answers
}

func parsed(t *testing.T, text string) *story {
	t.Helper()
	s, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCauses(t *testing.T) {
	for _, row := range rows {
		t.Run(strings.ReplaceAll(row.what, " ", "-"), func(t *testing.T) {
			s := parsed(t, row.text)
			for _, order := range []struct {
				of  string
				rec explain.Record
			}{{"the order is known", s.dispatched()}, {"the order is searched for", s.Record}} {
				if order.of != "the order is known" && strings.Contains(row.text, "turn=1") {
					continue // the order shows which commands a node kept
				}
				violations, answers := answered(t, s, order.rec)
				for i, v := range violations {
					if v.Cause != s.want[i] {
						t.Errorf("%s: %s: %s, want %s (%s)", order.of, v.Property, v.Cause, s.want[i], said(answers[i]))
					}
					if v.Cause == verdicts.CauseUnknown != strings.HasPrefix(said(answers[i]), "the cause is not known") {
						t.Errorf("%s: %s: %s, and its story ends with %q", order.of, v.Property, v.Cause, said(answers[i]))
					}
				}
			}
		})
	}
}

// searched are runs on real servers in which a command was not executed in the middle of its time: only another instant explains the replies.
var searched = []struct{ what, text string }{
	// The request that took the lock was under way when the server evicted the key, for longer before that than after.
	{"a request executed after an effect", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		effect n0 100 evicted lost=job
		c2 acquire 10-104 ok valid=1010 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 104-1000 c1 c2 = eviction`},
	// The eviction was seen at 200, when c2 had its grant: it happened since 90, when memory began to be filled.
	{"an effect that was seen later than it happened", `
		lock mutex 1000
		c1 acquire 0-2 ok valid=1000 : SET job a NX PX 1000 -> OK
		fault evict-keys n0 90-200
		effect n0 200 evicted lost=job
		c2 acquire 100-102 ok valid=1100 : SET job b NX PX 1000 -> OK
		violation mutual-exclusion 102-1000 c1 c2 = eviction`},
	// The clock, 10 % too fast since 10, was set right at some time since 270, which was seen at 290: before 274, for the lease did not end then.
	{"a clock that was set right before that was seen", `
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 2-400
		fault drift-clock n0 10-290 ending=270
		effect n0 10 clock-rate ppm=100000
		effect n0 290 clock-rate
		effect n0 290 clock-set by=-28
		c2 acquire 262-310 ok valid=610 : SET job b NX PX 300 -> (nil) @262-278 | SET job b NX PX 300 -> (nil) @295-297 | SET job b NX PX 300 -> OK @305-307
		c2 use 310-350
		violation exclusive-use 310-350 c1 c2 = lease-overrun`},
	// c1 was paused from 2 to 320 and saw its reply then: it was granted earlier, because c2 was granted at 305. The lease had ended when c1 went in.
	{"a reply that a paused client saw late", `
		lock mutex 300
		fault pause-client c1 2-320
		c1 acquire 0-320 ok valid=300 : SET job a NX PX 300 -> OK
		c1 use 320-400
		c2 acquire 305-307 ok valid=605 : SET job b NX PX 300 -> OK
		c2 use 307-390
		violation exclusive-use 320-390 c1 c2 = lease-overrun`},
	// c2 read the rest of c1's lease: 285 ms, so it was executed at 16 and not at 20, and c3's DEL after it.
	{"a reply with the time that is left", `
		lock mutex 300
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 300) then return {1, 0} end return {0, redis.call('pttl', KEYS[1])}
		c1 acquire 0-2 ok valid=300 : EVALSHA take 1 job a -> [1, 0]
		c2 acquire 10-30 busy : EVALSHA take 1 job b -> [0, 285]
		c3 release 40-42 ok : DEL job -> 1
		c2 acquire 50-52 ok valid=350 : EVALSHA take 1 job b -> [1, 0]
		violation mutual-exclusion 52-300 c1 c2 = mis-unlock`},
	// c2 was refused in the millisecond in which c1's lease ended: Redis still has the key then, with 0 ms left.
	{"a request executed in the last millisecond of a lease", `
		lock mutex 300
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 300) then return 1000 end return redis.call('pttl', KEYS[1])
		c1 acquire 0-2 ok valid=300 : EVALSHA take 1 job a -> 1000
		c1 use 2-400
		c2 acquire 301-302 busy : EVALSHA take 1 job b -> 0
		c3 acquire 310-312 ok valid=610 : EVALSHA take 1 job c -> 1000
		c3 use 312-350
		violation exclusive-use 312-350 c1 c3 = lease-overrun`},
	// The SET took from 0 to 60, so that the lease ended between 300 and 360. It had ended at 320, when c2 was granted.
	{"a lease that ended earlier than the middle of its command's time", `
		lock mutex 600
		c1 acquire 0-60 ok valid=600 : SET job a NX PX 300 -> OK
		c2 acquire 319-321 ok valid=919 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 321-600 c1 c2 = overbelief`},
	// c1's DEL was executed after its lease had ended at 301, or it would have found the key; by 330, when c2 was granted.
	{"a request executed after the end of a lease", `
		lock mutex 600
		c1 acquire 0-2 ok valid=600 : SET job a NX PX 300 -> OK
		c1 background 100-400 : DEL job -> 0
		c2 acquire 398-402 ok valid=998 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 402-600 c1 c2 = overbelief`},
	// c1's DEL was held back from 51 to 400 and deleted c2's key. In the middle of its time it would have deleted its own, which only c3's grant contradicts,
	// after more refusals than the search can undo.
	{"a request that a fault held back", `
		lock mutex 300
		fault delay-request c1 n0 51-400
		c1 acquire 0-2 ok valid=300 : SET job 1 NX PX 300 -> OK
		c1 release 50-402 ok : DEL job -> 1
		c2 acquire 310-312 ok valid=610 : SET job 1 NX PX 300 -> OK
		c3 acquire 313-407 ok valid=705 : ` + strings.Repeat("SET job 1 NX PX 300 -> (nil) @350-351 | ", 1200) + `SET job 1 NX PX 300 -> OK @405-407
		violation mutual-exclusion 407-610 c2 c3 = mis-unlock`},
	// The clock, 100 ms ahead since 10, began to be set right at 390. It was not right at 201, so nothing explains that c2's key was there at 259.
	{"a refusal that only an earlier correction of the clock would explain", `
		lock mutex 100
		fault jump-clock n0 10-400 ending=390
		effect n0 10 clock-set by=100
		effect n0 400 clock-rate
		effect n0 400 clock-set by=-100
		c2 acquire 150-152 ok valid=600 : SET job b NX PX 100 -> OK
		c4 acquire 200-202 busy : SET job d NX PX 100 -> (nil)
		c3 acquire 258-260 busy : SET job c NX PX 100 -> (nil)
		c5 acquire 420-422 ok valid=520 : SET job e NX PX 100 -> OK
		violation mutual-exclusion 422-520 c2 c5 = unknown`},
	// The node's clock runs at four times the rate: the 60 ms that the SET took are 240 ms of its own time, and its lease of 400 ms of that ended between 110
	// and 170, after c2 was refused.
	{"an expiry in the time of a fast clock", `
		lock mutex 400
		fault drift-clock n0 0-
		effect n0 0 clock-rate ppm=3000000
		c1 acquire 10-70 ok valid=400 : SET job a NX PX 400 -> OK
		c2 acquire 160-162 busy : SET job b NX PX 400 -> (nil)
		c3 acquire 175-177 ok valid=400 : SET job c NX PX 400 -> OK
		violation mutual-exclusion 177-400 c1 c3 = clock-skew`},
	// The clock runs at a quarter of the rate. That c2 read 280 ms, and not 271, shows that it was executed 36 ms before the middle of its time, and so
	// before c3's DEL, without which c2 would have been refused again.
	{"a remaining time by a slow clock", `
		lock mutex 300
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 300) then return {1, 0} end return {0, redis.call('pttl', KEYS[1])}
		fault drift-clock n0 0-
		effect n0 0 clock-rate ppm=-750000
		c1 acquire 0-2 ok valid=300 : EVALSHA take 1 job a -> [1, 0]
		c2 acquire 60-180 busy : EVALSHA take 1 job b -> [0, 280]
		c3 release 90-92 ok : DEL job -> 1
		c2 acquire 190-192 ok valid=490 : EVALSHA take 1 job b -> [1, 0]
		violation mutual-exclusion 192-300 c1 c2 = mis-unlock`},
	// c1's lease was over at 300, but Redis had not removed its key when the clock was set back at 310: it is there again, and c1's DEL deletes it.
	{"a key that came back with the clock", `
		lock mutex 300
		c1 acquire 0-2 ok valid=600 : SET job a NX PX 300 -> OK
		fault jump-clock n0 310-
		effect n0 310 clock-set by=-200
		c2 acquire 320-322 busy : SET job b NX PX 300 -> (nil)
		c3 release 330-332 ok : DEL job -> 1
		c2 acquire 340-342 ok valid=640 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 342-600 c1 c2 = mis-unlock`},
	// Replies have a fence where others have a remaining time: the fences show that c1 was granted before the first deletion, and c2 between the two.
	{"a fence where refusals have a time", `
		lock mutex 1000
		script take : if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', 1000) then return {1, redis.call('incr', 'fence')} end return {0, redis.call('pttl', KEYS[1])}
		c9 background 0-1 : SET fence 14 -> OK
		c4 acquire 2-4 ok valid=1002 : EVALSHA take 1 job d -> [1, 15]
		c5 acquire 10-30 busy : EVALSHA take 1 job e -> [0, 990]
		c4 release 40-41 ok : DEL job -> 1
		c1 acquire 100-140 ok valid=1100 fence=16 : EVALSHA take 1 job a -> [1, 16]
		effect n0 110 deleted lost=job
		c2 acquire 105-115 ok valid=1105 fence=17 : EVALSHA take 1 job b -> [1, 17]
		c2 release 116-117 ok : DEL job -> 1
		violation mutual-exclusion 140-1100 c1 c2 = key-deleted`},
	// c3's script, which replies the same whatever it finds, came after c2's RENAMENX, although it was sent later and answered earlier: it moved job back.
	{"a script that found one key and not another", `
		lock mutex 300
		script back : if redis.call('EXISTS', KEYS[2]) == 0 and redis.call('EXISTS', KEYS[1]) == 1 then redis.call('RENAME', KEYS[1], KEYS[3]) end return 1
		c9 background 0-1 : SET free 1 -> OK
		c1 acquire 2-6 ok valid=302 : RENAMENX free job -> 1 @2-3 | SET l a PX 300 -> OK @4-5
		c1 release 20-24 ok : DEL l -> 1 @20-21 | RENAME job free -> OK @22-23
		c2 acquire 30-40 ok valid=330 : RENAMENX free job -> 1 @30-36 | SET l b PX 300 -> OK @38-39
		c3 acquire 15-60 ok valid=350 : RENAMENX free job -> -ERR no such key @21.2-21.4 | EVALSHA back 3 job l free -> 1 @30.5-34 | RENAMENX free job -> 1 @50-51 | SET l c PX 300 -> OK @52-53
		violation mutual-exclusion 60-330 c2 c3 = mis-unlock`},
	// c4 found no key: c3's SET was executed before c1's DEL, although it was sent later. That c3's own DEL of 50, which got no reply, came as late
	// as this would explain the replies, too.
	{"an order without a request that got no reply", `
		lock mutex 0
		c1 acquire 0-2 ok : SET job 1 -> OK
		c3 acquire 10-12 ok : SET job 1 -> OK
		c5 acquire 20-22 busy : EXISTS job -> 1
		c3 release 50-60 unknown : DEL job -> ?
		c1 release 95-111 ok : DEL job -> 1
		c3 acquire 102-106 ok : SET job 1 -> OK
		c4 acquire 107-114 ok : EXISTS job -> 0 @107-112 | SET job 1 -> OK @113-114
		violation mutual-exclusion 114-200 c3 c4 = mis-unlock`},
}

func TestOrdersAreSearchedFor(t *testing.T) {
	for _, row := range searched {
		t.Run(strings.ReplaceAll(row.what, " ", "-"), func(t *testing.T) {
			s := parsed(t, row.text)
			for i, v := range explained(t, s, s.Record) {
				if v.Cause != s.want[i] {
					t.Errorf("%s: %s, want %s (%q)", v.Property, v.Cause, s.want[i], v.Story)
				}
			}
		})
	}
}

// Executed lists what a node did in its order: commands, the ends of leases, effects, and what each changed.
func TestExecuted(t *testing.T) {
	for _, row := range []struct {
		text string
		want []string
	}{
		{`
		lock mutex 300
		c1 acquire 0-2 ok valid=300 : SET job a NX PX 300 -> OK
		c2 acquire 310-312 ok valid=610 : SET job b NX PX 300 -> OK
		effect n0 400 deleted lost=job
		violation mutual-exclusion 312-610 c1 c2 = overbelief`,
			[]string{"1 c1SET job false true", "301 expired job true false", "311 c2SET job false true", "400 deleted job true false"}},
		// c1's SET was executed later than in the middle of its time, at 62, for the key was there at 391. That is no event at the node.
		{`
		lock mutex 300
		c1 acquire 24-100 ok valid=400 : SET job a NX PX 300 -> OK
		c3 acquire 390-392 busy : SET job c NX PX 300 -> (nil)
		c2 acquire 410-412 ok valid=710 : SET job b NX PX 300 -> OK
		violation mutual-exclusion 412-710 c1 c2 = overbelief`,
			[]string{"62 c1SET job false true", "391 c3SET", "392 expired job true false", "411 c2SET job false true"}},
	} {
		if got := executed(t, row.text); !slices.Equal(got, row.want) {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// findings returns the causes of a verdict's violations.
func findings(tb testing.TB, v *checker.Verdict, rec explain.Record, srv explain.Server) explain.Findings {
	tb.Helper()
	found, err := explain.Verdict(tb.Context(), v, rec, srv)
	if err != nil {
		tb.Fatal(err)
	}
	return found
}

// executed describes the log of a record's nodes.
func executed(t *testing.T, text string) (events []string) {
	t.Helper()
	s := parsed(t, text)
	srv, err := sim.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	log := findings(t, &checker.Verdict{Violations: slices.Clone(s.violations)}, s.Record, srv).Executed()
	if !strings.HasPrefix(log.Source, "worked out: ") {
		t.Errorf("the source is %s", log.Source)
	}
	for _, e := range log.Events {
		text := fmt.Sprint(e.At/1_000_000, " ", e.Client, e.Name, e.Effect)
		for _, c := range e.Changes {
			text += fmt.Sprint(" ", c.Key, " ", c.Before != nil, c.After != nil)
		}
		events = append(events, text)
	}
	return events
}

// TestScriptsOfOtherTools: a record of another tool may have the source of a script, or its digest, only as the first argument.
func TestScriptsOfOtherTools(t *testing.T) {
	const source, digest = `return redis.call("del", KEYS[1])`, "69ed0a0d93a0d1ac8b2cb5ae84b34cd0e1ed4ee0"
	for name, first := range map[string]string{"EVAL": source, "EVALSHA": strings.ToUpper(digest)} {
		s := parsed(t, `
			lock mutex 300
			c1 acquire 0-2 ok valid=300 : SET job 1 NX PX 300 -> OK
			c2 acquire 310-312 ok valid=610 : SET job 1 NX PX 300 -> OK
			c1 release 350-352 ok : DEL job -> 1
			c3 acquire 360-362 ok valid=660 : SET job 1 NX PX 300 -> OK
			violation mutual-exclusion 362-610 c2 c3 = mis-unlock`)
		for i := range s.Commands {
			if c := &s.Commands[i]; c.Name == "DEL" {
				c.Name, c.Args = name, []string{first, "1", "job"}
			}
		}
		s.Scripts = map[string]string{digest: source}
		v := judged(t, s, s.Record)
		if len(v.Violations) == 0 || v.Violations[0].Cause != verdicts.MisUnlock {
			t.Errorf("%s: %+v", name, v.Violations)
		}
	}
}
