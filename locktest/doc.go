package locktest
