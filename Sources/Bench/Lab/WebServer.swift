/// An nginx as the lab runs it.
enum WebServer {
    /// Its configuration: in the foreground, with everything that it writes itself in `directory`.
    static func configuration(of sites: String, directory: String, name: String) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "    \($0)_temp_path \(directory)/\(name).\($0);\n"
        }
        return """
            daemon off;
            user root;
            worker_processes 1;
            pid \(directory)/\(name).nginx.pid;
            error_log stderr;
            events {}
            http {
                access_log /dev/stdout;
            \(temporary.joined())
            \(sites)
            }

            """
    }
}
