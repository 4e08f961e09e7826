// local
