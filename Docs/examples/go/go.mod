module altnet.example/client

go 1.20
