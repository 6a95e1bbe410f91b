#pragma once
// The programs of this build, run as processes.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace support {

/// The path of a program in the build that $L3_BUILD names, or of another, given as a whole.
inline std::filesystem::path program(const std::string& name) {
    const char* const build = std::getenv("L3_BUILD");
    if (build == nullptr) throw std::runtime_error("L3_BUILD does not name the build folder whose programs are tested");
    return std::filesystem::path(build) / (name == "l3-bench" ? "bench" : "examples") / name;
}

/// How a program ended, and what it said.
struct Outcome {
    int status = 0;  // its exit status, or minus the signal that ended it
    std::string out, err;
    std::uint64_t peak_bytes = 0;  // the most memory it had
};

/// A running program: standard input and output are pipes.
class Process {
  public:
    Process(const std::string& name, std::vector<std::string> arguments) : err_(std::tmpfile(), &std::fclose) {
        const std::string path = program(name).string();
        int in[2], out[2];
        if (!err_ || ::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
            throw std::system_error(errno, std::generic_category(), "pipes");
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
        posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&files, ::fileno(err_.get()), STDERR_FILENO);
        // Whoever runs the tests in the background has interrupts ignored; the programs would inherit that.
        posix_spawnattr_t attributes;
        sigset_t interrupt, none;
        sigemptyset(&none);
        sigemptyset(&interrupt);
        sigaddset(&interrupt, SIGINT);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigdefault(&attributes, &interrupt);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
        arguments.insert(arguments.begin(), name);
        std::vector<char*> argv;
        for (std::string& argument : arguments) argv.push_back(argument.data());
        argv.push_back(nullptr);
        const int error = ::posix_spawn(&pid_, path.c_str(), &files, &attributes, argv.data(), environ);
        posix_spawn_file_actions_destroy(&files);
        posix_spawnattr_destroy(&attributes);
        ::close(in[0]);
        ::close(out[1]);
        in_ = in[1];
        out_ = out[0];
        if (error != 0) throw std::system_error(error, std::generic_category(), path);
    }
    ~Process() {
        close_input();
        ::close(out_);
        if (!ended_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    /// Gives it more input, as far as it takes it.
    void write(const std::string& text) {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t n = ::write(in_, text.data() + at, text.size() - at);
            if (n <= 0) return;
            at += std::size_t(n);
        }
    }
    void close_input() {
        if (in_ >= 0) ::close(in_);
        in_ = -1;
    }
    void send(int signal) { ::kill(pid_, signal); }

    /// Lets it get no further ahead of what is read here than a page, the least a pipe holds. To be called before it writes.
    void hold_output() {
        if (::fcntl(out_, F_SETPIPE_SZ, 4096) < 0) throw std::system_error(errno, std::generic_category(), "F_SETPIPE_SZ");
    }

    /// Reads output up to and with this character, or to its end.
    std::string read_to(char last) {
        std::string text;
        for (char c; (text.empty() || text.back() != last) && ::read(out_, &c, 1) == 1;) text += c;
        return text;
    }
    /// The next n bytes of output, or fewer at its end.
    std::string read(std::size_t n) {
        std::string text;
        for (char c; text.size() < n && ::read(out_, &c, 1) == 1;) text += c;
        return text;
    }
    /// What it has written by now.
    std::string read_ready() {
        std::string text;
        pollfd ready = {out_, POLLIN, 0};
        for (char c; ::poll(&ready, 1, 0) == 1 && ::read(out_, &c, 1) == 1;) text += c;
        return text;
    }
    std::string read_all() {
        std::string text;
        char some[4096];
        for (ssize_t n; (n = ::read(out_, some, sizeof some)) > 0;) text.append(some, std::size_t(n));
        return text;
    }
    /// Waits for its end, and gives what it still said.
    Outcome wait() {
        Outcome outcome;
        outcome.out = read_all();
        int status = 0;
        rusage usage = {};
        ::wait4(pid_, &status, 0, &usage);
        ended_ = true;
        outcome.peak_bytes = std::uint64_t(usage.ru_maxrss) * 1024;
        outcome.status = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        std::rewind(err_.get());
        for (int c; (c = std::fgetc(err_.get())) != EOF;) outcome.err += char(c);
        return outcome;
    }

  private:
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> err_;
    pid_t pid_ = 0;
    int in_ = -1, out_ = -1;
    bool ended_ = false;
};

/// A program in the words of a shell, for run_shell.
inline std::string in_shell(const std::string& name) { return "'" + program(name).string() + "'"; }

/// Runs a program to its end.
inline Outcome run(const std::string& name, const std::vector<std::string>& arguments, const std::string& input = "") {
    std::signal(SIGPIPE, SIG_IGN);  // for a program that ends without reading its input
    Process process(name, arguments);
    std::jthread writer([&] {
        process.write(input);
        process.close_input();
    });
    return process.wait();
}

/// Runs a command of the shell to its end.
inline Outcome run_shell(const std::string& command) { return run("/bin/sh", {"-c", command}); }

}  // namespace support
