# reaper.sh DIRECTORY
#
# Waits until its standard input ends. The word "done" means that the owner has cleared everything
# away itself. An end without it means that the owner died: then every redis-server with a pid file
# in DIRECTORY is killed, every container labelled with DIRECTORY is removed, and DIRECTORY is
# removed. A container whose creation was under way when the owner died appears a little later,
# hence the rounds. The engine is the one that DOCKER_HOST names; without a docker command it is
# asked by curl.

read -r order
[ "$order" = done ] && exit 0

dir=$1

ask() { # PATH CURL-OPTION...: one request to the engine
  path=$1
  shift
  case $DOCKER_HOST in
    unix://*) curl -sf --unix-socket "${DOCKER_HOST#unix://}" "$@" "http://engine$path" ;;
    tcp://*) curl -sf "$@" "http://${DOCKER_HOST#tcp://}$path" ;;
  esac
}

remove_containers() {
  if command -v docker; then
    ids=$(docker ps -aq --filter "label=lockbench.workspace=$dir")
    [ -n "$ids" ] && docker rm -f -v $ids
    return
  fi
  ask /containers/json -G -d all=1 --data-urlencode "filters={\"label\":[\"lockbench.workspace=$dir\"]}" |
    grep -o '"Id":"[0-9a-f]*"' | while IFS=\" read -r _ _ _ id _; do
    ask "/containers/$id?force=1&v=1" -X DELETE
  done
}

for round in 1 2 3; do
  for file in "$dir"/*/redis.pid; do
    [ -r "$file" ] || continue
    read -r pid <"$file"
    case $(ps -p "$pid" -o comm= 2>/dev/null) in
      redis-server*) kill -9 "$pid" ;;
    esac
  done
  if [ -e "$dir/containers" ]; then
    remove_containers
    sleep 1
  fi
done >/dev/null 2>&1
rm -rf "$dir"
