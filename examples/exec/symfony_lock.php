<?php
// Symfony's Lock on RedisStore and phpredis as a child of lockbench.  lockbench run --exec 'php symfony_lock.php'
require '/usr/share/php/Symfony/Component/Lock/autoload.php';

use Symfony\Component\Lock\Exception\LockConflictedException;
use Symfony\Component\Lock\Exception\LockExpiredException;
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$locks = [];
$waits = [];

// Lock::acquire(true) polls RedisStore every 90 to 110 ms without a limit, so this polls for a wait with one.
function waitFor($lock, float $poll, float $wait): bool
{
    for ($end = microtime(true) + $wait; !$lock->acquire(); usleep((int) (1000 * $poll))) {
        if ($wait > 0 && microtime(true) >= $end) {
            return false;
        }
    }
    return true;
}

while (($line = fgets(STDIN)) !== false) {
    $request = json_decode($line, true);
    $key = $request['key'] ?? '';
    $reply = ['id' => $request['id'], 'ok' => true];
    try {
        switch ($request['op']) {
            case 'describe':
                $reply += ['name' => 'symfony-lock', 'can' => ['extend']];
                break;
            case 'new':
                [$host, $port] = explode(':', $request['servers'][0]);
                $redis = new Redis();
                $redis->connect($host, (int) $port);
                $locks[$key] = (new LockFactory(new RedisStore($redis)))->createLock($key, $request['lease_ms'] / 1000, false);
                $waits[$key] = $request['poll_ms'];
                break;
            case 'try':
                $reply = $locks[$key]->acquire() ? $reply : ['id' => $request['id'], 'error' => 'busy'];
                break;
            case 'acquire':
                $reply = waitFor($locks[$key], $waits[$key], ($request['wait_ms'] ?? 0) / 1000) ? $reply : ['id' => $request['id'], 'error' => 'busy'];
                break;
            case 'extend':
                $locks[$key]->refresh();
                break;
            case 'release':
                $locks[$key]->release();
                break;
        }
    } catch (LockConflictedException | LockExpiredException $e) {
        $reply = ['id' => $request['id'], 'error' => 'lost', 'text' => $e->getMessage()];
    } catch (Throwable $e) {
        $reply = ['id' => $request['id'], 'error' => 'unknown', 'text' => get_class($e).': '.$e->getMessage()];
    }
    echo json_encode($reply), "\n";
}
