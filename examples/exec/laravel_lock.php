<?php
// Laravel's cache lock on Redis and phpredis as a child of lockbench.  lockbench run --exec 'php laravel_lock.php'
// PhpRedisLock is what Cache::lock gives with the phpredis client; release tells by false that the lock was not its own any more.
require '/usr/share/php/Illuminate/Redis/autoload.php';
require '/usr/share/php/Illuminate/Cache/autoload.php';

use Illuminate\Cache\RedisLock;
use Illuminate\Redis\Connectors\PhpRedisConnector;

$locks = [];
$waits = [];

// Lock::block counts whole seconds and polls every 250 ms unless told; a wait in milliseconds polls here.
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
    $ask = json_decode($line, true);
    $key = $ask['key'] ?? '';
    $answer = ['id' => $ask['id'], 'ok' => true];
    try {
        switch ($ask['op']) {
            case 'describe':
                $answer += ['name' => 'laravel-cache-lock'];
                break;
            case 'new':
                [$host, $port] = explode(':', $ask['servers'][0]);
                $redis = (new PhpRedisConnector())->connect(['host' => $host, 'port' => (int) $port], []);
                // A lease is whole seconds (SET EX); what is less becomes one.
                $locks[$key] = new RedisLock($redis, $key, max(1, (int) round($ask['lease_ms'] / 1000)));
                $waits[$key] = $ask['poll_ms'];
                break;
            case 'try':
                $answer = $locks[$key]->acquire() ? $answer : ['id' => $ask['id'], 'error' => 'busy'];
                break;
            case 'acquire':
                $answer = waitFor($locks[$key], $waits[$key], ($ask['wait_ms'] ?? 0) / 1000) ? $answer : ['id' => $ask['id'], 'error' => 'busy'];
                break;
            case 'release':
                $answer = $locks[$key]->release() ? $answer : ['id' => $ask['id'], 'error' => 'lost'];
                break;
        }
    } catch (Throwable $e) {
        $answer = ['id' => $ask['id'], 'error' => 'unknown', 'text' => get_class($e).': '.$e->getMessage()];
    }
    echo json_encode($answer), "\n";
}
