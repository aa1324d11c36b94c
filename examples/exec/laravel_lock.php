<?php
// Laravel's cache lock on Redis and phpredis as a child of lockbench.  lockbench run --exec 'php laravel_lock.php'
// PhpRedisLock is what Cache::lock returns with the phpredis client; release returns false if the lock was no longer its own.
require '/usr/share/php/Illuminate/Redis/autoload.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';

use Illuminate\Cache\RedisLock;
use Illuminate\Redis\Connectors\PhpRedisConnector;

$locks = [];
$waits = [];

// Lock::block takes whole seconds and polls every 250 ms by default, so this polls for a wait in milliseconds.
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
                $reply += ['name' => 'laravel-cache-lock'];
                break;
            case 'new':
                [$host, $port] = explode(':', $request['servers'][0]);
                $redis = (new PhpRedisConnector())->connect(['host' => $host, 'port' => (int) $port], []);
                // A lease is in whole seconds (SET EX), at least one.
                $locks[$key] = new RedisLock($redis, $key, max(1, (int) round($request['lease_ms'] / 1000)));
                $waits[$key] = $request['poll_ms'];
                break;
            case 'try':
                $reply = $locks[$key]->acquire() ? $reply : ['id' => $request['id'], 'error' => 'busy'];
                break;
            case 'acquire':
                $reply = waitFor($locks[$key], $waits[$key], ($request['wait_ms'] ?? 0) / 1000) ? $reply : ['id' => $request['id'], 'error' => 'busy'];
                break;
            case 'release':
                $reply = $locks[$key]->release() ? $reply : ['id' => $request['id'], 'error' => 'lost'];
                break;
        }
    } catch (Throwable $e) {
        $reply = ['id' => $request['id'], 'error' => 'unknown', 'text' => get_class($e).': '.$e->getMessage()];
    }
    echo json_encode($reply), "\n";
}
