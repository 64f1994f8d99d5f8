import Foundation
import Hotspots
import Testing

/// The user of providers, the users that may start them, and their end with the connection.
@Suite(.enabled(if: geteuid() == 0, "needs root"), .serialized, .timeLimit(.minutes(10))) struct HostUserTests {
    private static let name = HostBench.name

    /// Starts what stays, in all ways that there are to get away, and says what it was.
    private static let escaping = """
        o=${0%/d/*}/out
        sleep 1000 & a=$!
        (trap '' TERM HUP INT; sleep 1000; :) & b=$!
        exec python3 - $a $b $o/escaping <<'END'
        import os, sys, time
        held = 0
        def leave():
            global held
            for way in (os.setsid, lambda: os.setpgid(0, 0)):
                try: way()
                except PermissionError: held += 1
        others = [os.getpid()] + sys.argv[1:3]
        if os.fork() == 0:
            leave()
            if os.fork() == 0:
                leave()
                others.append(os.getpid())
                with open(sys.argv[3], 'w') as f: print(held, *others, file=f)
            else: os._exit(0)
        time.sleep(1000)
        END
        """

    @Test(arguments: [HostBench.Socket.listening, .listeningAsInUnit, .inherited])
    func nothingOutlivesItsConnection(socket: HostBench.Socket) async throws {
        let bench = try await HostBench(["escaping": Self.escaping], socket: socket)
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let words = try await bench.line(of: "escaping").split(separator: " ").compactMap { pid_t($0) }
        #expect(words.count == 5)
        // Neither a session nor a process group of its own, before and after its parent has gone.
        #expect(words.first == 4)
        let processes = Array(words.dropFirst())
        #expect(processes.allSatisfy { kill($0, 0) == 0 })
        bench.hotspots.networkLeft()
        try await bench.haveEnded(processes)
        try await bench.settled()
        try await bench.end()
    }

    @Test func nothingOutlivesTheHost() async throws {
        let bench = try await HostBench(["escaping": Self.escaping])
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let words = try await bench.line(of: "escaping").split(separator: " ").compactMap { pid_t($0) }
        #expect(words.count == 5)
        kill(bench.host, SIGTERM)
        try await bench.haveEnded(Array(words.dropFirst()))
        try await bench.end()
    }

    /// However soon after it has begun.
    @Test func theHostEndsWhenItIsTold() async throws {
        for _ in 0..<20 {
            let bench = try await HostBench([:])
            try await bench.end()
        }
    }

    // covers: seed/providers-apart
    @Test func providersRunAsAnotherUser() async throws {
        let bench = try await HostBench([
            "look": """
            o=${0%/d/*}
            {
                id -u; id -g; id -G
                cat $o/secret 2>/dev/null || echo closed
                kill -9 $PPID 2>/dev/null || echo alive
                python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])' $o/s 2>/dev/null \\
                    || echo refused
                touch $0 2>/dev/null || echo unwritten
            } | tr '\\n' ' ' >$o/out/new
            echo >>$o/out/new; mv $o/out/new $o/out/look
            """
        ])
        // As the agent's files are.
        try #require(FileManager.default.createFile(atPath: bench.folder + "/secret", contents: Data("psk".utf8)))
        chmod(bench.folder + "/secret", 0o600)
        bench.hotspots.captiveFound(HostBench.cafe, name: Self.name)
        let user = try #require(getpwnam(HostBench.user)).pointee
        #expect(
            try await bench.line(of: "look")
                == "\(user.pw_uid) \(user.pw_gid) \(user.pw_gid) closed alive refused unwritten ")
        #expect(kill(bench.host, 0) == 0)
        try await bench.end()
    }

    /// Asks for the list as a user.
    private static let peer = """
        import os, pwd, socket, sys
        user = pwd.getpwnam(sys.argv[1])
        os.setgroups([]); os.setgid(user.pw_gid); os.setuid(user.pw_uid)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(sys.argv[2])
            connection.sendall(b'{"v":1,"type":"list"}\\n')
            print(connection.recv(1000).decode().strip() or 'closed')
        except PermissionError: print('denied')
        except (BrokenPipeError, ConnectionResetError): print('closed')
        """

    @Test func onlyTheAgentMayConnect() async throws {
        let bench = try await HostBench(["a": "x"], agentUser: "daemon")
        func ask(as user: String) async throws -> String {
            try await bench.run("python3", ["-c", Self.peer, user, bench.folder + "/s"]).text
        }
        let list = #"{"body":{"providers":["a"]},"ok":true,"v":1}"# + "\n"
        #expect(try await ask(as: "root") == list)
        #expect(try await ask(as: "daemon") == list)
        #expect(try await ask(as: "nobody") == "denied\n")
        // Even if the file's mode allows it.
        chmod(bench.folder + "/s", 0o666)
        #expect(try await ask(as: "nobody") == "closed\n")
        try await bench.end()
    }

    @Test(arguments: [
        ([], "--user"),
        (["--user", "root"], "--user"),
        (["--user", "no-such-user"], "no-such-user"),
    ])
    func rootSaysWhoTheProvidersAre(options: [String], complaint: String) async throws {
        let bench = try await HostBench([:])
        let socket = bench.folder + "/other"
        let (status, text) = try await bench.run(
            HostBench.program, ["providers", "--directory", bench.folder + "/d", "--listen", socket] + options)
        #expect(status == 1)
        #expect(text.hasPrefix("altnet: ") && text.contains(complaint), "\(text)")
        #expect(access(socket, F_OK) != 0)
        try await bench.end()
    }

    @Test(arguments: [
        ("unset LISTEN_FDS", "--listen"), ("export LISTEN_PID=1 LISTEN_FDS=1", "--listen"),
        ("export LISTEN_PID=$$ LISTEN_FDS=1; exec 3</dev/null", "listening Unix socket"),
    ])
    func aSocketIsNeeded(preparation: String, complaint: String) async throws {
        let bench = try await HostBench([:])
        let (status, text) = try await bench.run(
            "sh", ["-c", "\(preparation); exec \(HostBench.program) providers --user \(HostBench.user)"])
        #expect(status == 1)
        #expect(text.hasPrefix("altnet: ") && text.contains(complaint), "\(text)")
        try await bench.end()
    }
}
